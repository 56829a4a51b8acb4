package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
)

// migrateBody is a migrate on its way to Kafka.
type migrateBody struct {
	Definition json.RawMessage `json:"definition"`
	events.By
}

// migrate lets a run go on with another definition, which is named and brought along as that of a
// start is.
func (g *Gateway) migrate(w http.ResponseWriter, r *http.Request) error {
	var given events.MigrateWorkflow
	c, err := g.commandOf(w, r, "migrate", &given)
	if err != nil {
		return err
	}
	body := migrateBody{given.Definition, given.By}
	known, err := g.resolve(r.Context(), &body.Definition, c.Body)
	if err != nil {
		return err
	}
	err = g.sendMigrate(w, r, c, body)
	if p, ok := errors.AsType[*Problem](err); ok && p.code() == "unknown_definition" && known.canonical != nil {
		body.Definition = known.canonical
		return g.sendMigrate(w, r, inline(c), body)
	}
	return err
}

func (g *Gateway) sendMigrate(w http.ResponseWriter, r *http.Request, c request.Command, body migrateBody) error {
	var err error
	if c.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	return g.command(w, r, c, waiting{accepted: true}, controlled)
}
