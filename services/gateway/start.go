package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// postWorkflow starts a workflow under an id of ours. The id follows from the
// Idempotency-Key, so that a repetition reaches the same workflow.
func (g *Gateway) postWorkflow(w http.ResponseWriter, r *http.Request) error {
	return g.start(w, r, newWorkflowID(r.Header.Get("Idempotency-Key")))
}

func (g *Gateway) putWorkflow(w http.ResponseWriter, r *http.Request) error {
	id, err := pathValue(r, "id")
	if err != nil {
		return err
	}
	return g.start(w, r, id)
}

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func newWorkflowID(key string) string {
	if key == "" {
		return "wf-" + strings.ToLower(rand.Text())
	}
	sum := sha256.Sum256([]byte(key))
	return "wf-" + lower32.EncodeToString(sum[:16])
}

// startBody is a start on its way to Kafka: what was not given stays out of it.
type startBody struct {
	Definition json.RawMessage `json:"definition"`
	Input      json.RawMessage `json:"input,omitempty"`
	Policies   json.RawMessage `json:"policies,omitempty"`
	Options    json.RawMessage `json:"options,omitempty"`
	Context    json.RawMessage `json:"context,omitempty"`
	Own        json.RawMessage `json:"component_context,omitempty"`
	events.By
}

func (g *Gateway) start(w http.ResponseWriter, r *http.Request, id string) error {
	wait, err := g.parseWait(r)
	if err != nil {
		return err
	}
	var given events.StartWorkflow
	raw, err := g.readObject(w, r, &given)
	if err != nil {
		return err
	}
	c, err := newCommand(r, "start", id, raw)
	if err == nil {
		err = checkCommand(c)
	}
	if err != nil {
		return err
	}
	body := startBody{given.Definition, given.Input, given.Policies, given.Options, given.Context, given.Own, given.By}
	known, err := g.resolve(r.Context(), &body.Definition, raw)
	if err != nil {
		return err
	}
	if c.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode the start: %w", err)
	}
	return g.sendStart(w, r, c, body, known, wait)
}

// resolved is a registered definition that a start names.
type resolved struct {
	canonical []byte // nil: the start brought its own
	young     bool   // planners may not have read it yet
}

// youth is how long a definition counts as one that some planner may not have
// read yet.
const youth = 30 * time.Second

// resolve pins what a command names: the definition is what is registered here and now
// under that name, whatever a planner has read so far. An inline one is checked; sent is the
// body that has it.
func (g *Gateway) resolve(ctx context.Context, named *json.RawMessage, sent []byte) (resolved, error) {
	var ref string
	if err := json.Unmarshal(*named, &ref); err != nil { // no text, so an object
		d, err := definition.Parse(*named)
		if err != nil {
			return resolved{}, definitionProblem(within(sent, err, "definition"))
		}
		return resolved{}, g.ensureQueues(ctx, d)
	}
	e, ok := g.book.Resolve(ref)
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, g.limits.Answer)
		defer cancel()
		if err := g.book.Sync(ctx); err != nil { // another gateway may have registered it
			return resolved{}, err
		}
		if e, ok = g.book.Resolve(ref); !ok {
			return resolved{}, refuseField("unknown_definition", "definition", g.noDefinition(ref)+"; register it with `heddle define FILE`")
		}
	}
	var err error
	*named, err = json.Marshal(e.Digest)
	return resolved{e.Canonical, time.Since(e.Registered) < youth}, err
}

// started is how the decision on a start is told.
var started = outcome{http.StatusCreated, func(_ string, workflow json.RawMessage) any { return Started{workflow, null} }}

// sendStart sends the start by digest, and once more with the definition itself
// should the planner not have read it yet.
func (g *Gateway) sendStart(w http.ResponseWriter, r *http.Request, c request.Command, body startBody, known resolved, wait waiting) error {
	if wait.drained > 0 || !wait.waits() && !known.young {
		err := g.command(w, r, c, wait, started)
		if refused, ok := errors.AsType[*request.RefusedError](err); ok && known.lacking(refused.Reply) {
			return g.startInline(w, r, c, body, known.canonical, wait)
		}
		return err
	}
	if err := g.admit(r.Context(), c.Workflow); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.patience(wait))
	defer cancel()
	call, err := g.requests.Call(ctx, c, false)
	if err != nil {
		return err
	}
	defer call.Close()
	reply, err := call.Decided(ctx)
	switch {
	case err == nil && known.lacking(reply):
		return g.startInline(w, r, c, body, known.canonical, wait)
	case wait.accepted || err != nil || reply.Refusal != nil:
		return g.decided(w, r, c.Workflow, call.ID, reply, err, started)
	}
	return g.accepted(w, r, c.Workflow, call.ID, nil)
}

// lacking reports whether a planner refused a start because it has not read its
// definition yet.
func (d resolved) lacking(r events.Reply) bool {
	return d.canonical != nil && r.Refusal != nil && r.Refusal.Code == "unknown_definition"
}

// startInline brings the definition along.
func (g *Gateway) startInline(w http.ResponseWriter, r *http.Request, c request.Command, body startBody, canonical []byte, wait waiting) error {
	body.Definition = canonical
	var err error
	if c.Body, err = json.Marshal(body); err != nil {
		return fmt.Errorf("encode the start: %w", err)
	}
	return g.command(w, r, inline(c), wait, started)
}

// inline is a command that brings its definition along: another one than that which names it.
func inline(c request.Command) request.Command {
	if c.ID != "" {
		c.ID += "/inline"
	}
	return c
}
