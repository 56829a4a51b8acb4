package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
)

// postInput feeds a workflow.
func (g *Gateway) postInput(w http.ResponseWriter, r *http.Request) error {
	wait, err := g.parseWait(r)
	if err != nil {
		return err
	}
	c, err := g.commandOf(w, r, "input", &events.FeedInput{})
	if err != nil {
		return err
	}
	return g.command(w, r, c, wait, outcome{http.StatusOK, func(_ string, workflow json.RawMessage) any {
		return Started{workflow, null}
	}})
}

// controlled is how decisions on control commands are told. They are waited for
// without being asked: nothing runs that would take long.
var controlled = outcome{http.StatusOK, func(result string, workflow json.RawMessage) any {
	return Controlled{result, workflow}
}}

// control sends one of the control commands to the workflow of the path.
func (g *Gateway) control(w http.ResponseWriter, r *http.Request, name string, body any) error {
	c, err := g.commandOf(w, r, name, body)
	if err != nil {
		return err
	}
	return g.command(w, r, c, waiting{accepted: true}, controlled)
}

// signal sends a signal of the path's name to the workflow of the path.
func (g *Gateway) signal(w http.ResponseWriter, r *http.Request) error {
	name, err := pathValue(r, "name")
	if err != nil {
		return err
	}
	c, err := g.commandWith(w, r, "signal", &signalBody{}, func(raw json.RawMessage) (json.RawMessage, error) {
		return splice(raw, "name", name)
	})
	if err != nil {
		return err
	}
	return g.command(w, r, c, waiting{accepted: true}, controlled)
}

// given is what an operator says to a partition or a pool, with who and why.
type given interface{ CheckGiven() *events.CommandError }

// operate sends an operator's word to the partition of the path.
func (g *Gateway) operate(w http.ResponseWriter, r *http.Request, name string, body given) error {
	p, err := g.partitionOf(r)
	if err != nil {
		return err
	}
	raw, err := g.readObject(w, r, body)
	if err != nil {
		return err
	}
	return g.order(w, r, name, events.PartitionWorkflow(p), raw, body)
}

// order sends an operator's word to whom it is for.
func (g *Gateway) order(w http.ResponseWriter, r *http.Request, name, to string, raw []byte, body given) error {
	c, err := newCommand(r, name, to, raw)
	if err == nil {
		err = checkCommand(c)
	}
	if err != nil {
		return err
	}
	if bad := body.CheckGiven(); bad != nil {
		return refuseField(bad.Code, bad.Path, bad.Message)
	}
	return g.command(w, r, c, waiting{accepted: true}, controlled)
}

// commandOf makes a command of the body, for the workflow of the path.
func (g *Gateway) commandOf(w http.ResponseWriter, r *http.Request, name string, body any) (request.Command, error) {
	return g.commandWith(w, r, name, body, func(raw json.RawMessage) (json.RawMessage, error) { return raw, nil })
}

// commandWith is commandOf where the body lacks what the path has: whole adds it.
func (g *Gateway) commandWith(w http.ResponseWriter, r *http.Request, name string, body any, whole func(json.RawMessage) (json.RawMessage, error)) (request.Command, error) {
	id, err := pathValue(r, "id")
	if err != nil {
		return request.Command{}, err
	}
	if _, ok := events.PartitionOf(id); ok { // it has routes of its own, and another role
		return request.Command{}, refuseField("invalid_workflow_id", "id", "this is a partition and no workflow")
	}
	raw, err := g.readObject(w, r, body)
	if err == nil {
		raw, err = whole(raw)
	}
	if err != nil {
		return request.Command{}, err
	}
	c, err := newCommand(r, name, id, raw)
	if err == nil {
		err = checkCommand(c)
	}
	return c, err
}

// deleteWorkflow takes what it needs from the body or, for clients that send
// none with DELETE, from the query.
func (g *Gateway) deleteWorkflow(w http.ResponseWriter, r *http.Request) error {
	var b events.DeleteWorkflow
	c, err := g.commandOf(w, r, "delete", &b)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	switch q.Get("force") {
	case "", "false":
	case "true":
		b.Force = true
	default:
		return refuseField("invalid_parameter", "force", "want true or false")
	}
	b.Who, b.Why = or(b.Who, q.Get("by")), or(b.Why, q.Get("why"))
	if c.Body, err = json.Marshal(b); err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	return g.command(w, r, c, waiting{accepted: true}, controlled)
}

// task ends or guards an attempt by its token.
func (g *Gateway) task(w http.ResponseWriter, r *http.Request, name string) error {
	text, err := pathValue(r, "token")
	if err != nil {
		return err
	}
	sealed, err := events.ParseTokenText(text)
	if err != nil {
		return refuseField("invalid_field", "token", "is not a task token")
	}
	token, err := events.PeekToken(sealed)
	if err != nil {
		return refuseField("invalid_field", "token", "is not a task token")
	}
	bodies := map[string]any{"complete": &completeBody{}, "fail": &failBody{}, "heartbeat": &heartbeatBody{}}
	raw, err := g.readObject(w, r, bodies[name])
	if err != nil {
		return err
	}
	if raw, err = splice(raw, "token", text); err != nil {
		return err
	}
	c, err := newCommand(r, name, token.Workflow, raw)
	if err == nil {
		err = checkCommand(c)
	}
	if err != nil {
		return err
	}
	return g.command(w, r, c, waiting{accepted: true}, controlled)
}
