package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// StartOptions change how Start starts; the zero value starts a workflow with an ID of
// its own and returns when the planner has decided.
type StartOptions struct {
	ID             string // of the workflow; empty: a random one
	IfExists       Exists // what to do when the ID is taken
	IdempotencyKey string // the same key, ID and content start once and get the first answer
	Wait           Wait   // what Start returns behind

	Policies any // rules for this run: what marshals to a list of rules
	Options  any // options of this run: what marshals to an object
	Context  any // values for the run: what marshals to an object
	By

	ComponentContext any // values for components alone: what marshals to an object of objects by component
}

// Exists says what Start does when the ID is taken.
type Exists uint8

// What to do with an ID that exists.
const (
	ExistsFail Exists = iota // the error ErrAlreadyStarted
	ExistsUse                // the run that exists
)

// Wait says what a command's call returns behind.
type Wait uint8

// What there is to wait for.
const (
	UntilDecided Wait = iota // the planner has decided
	UntilWritten             // Kafka has the command: a refusal shows later only
	UntilDrained             // the workflow is idle, failed, stopped or closed; its results come with it
)

// given is a text, or nil for none.
func given(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Start starts a workflow. def is a registered name, name@version or digest, or
// an inline definition as a JSON object. in is the first input, marshalled to
// JSON; nil starts without one.
//
// An error that leaves open whether the workflow has started comes with its Run: by that, or by Start with
// ExistsUse and the Run's ID, one finds out.
func (c *Client) Start(ctx context.Context, def string, in any, o StartOptions) (*Run, error) {
	if o.ID == "" {
		o.ID = "wf-" + strings.ToLower(rand.Text())
	}
	run := &Run{c: c, ID: o.ID}
	a, err := c.start(ctx, &o, def, in)
	var refused *Error
	if o.IfExists == ExistsUse && errors.As(err, &refused) && refused.Code == ErrAlreadyStarted.Code {
		run.Started = refused.Workflow
		return run, nil
	}
	if err != nil {
		if err = fmt.Errorf("start %s: %w", o.ID, err); refuses(err) {
			run = nil
		}
		return run, err
	}
	run.Started = a.Workflow
	if a.Drained {
		run.end = &a
	}
	return run, nil
}

// start sends the command. A definition that this client registered itself is
// named by its digest, and brought along when the planner has not seen it yet:
// what was defined can be started at once, and as it was defined.
func (c *Client) start(ctx context.Context, o *StartOptions, def string, in any) (Answer, error) {
	cmd := Command{Name: "start", Workflow: o.ID, ID: o.IdempotencyKey, Wait: o.Wait}
	return c.defined(ctx, cmd, def, func(def string) ([]byte, error) { return o.encode(def, in) })
}

// defined sends a command that names or brings a definition; encode makes its body.
func (c *Client) defined(ctx context.Context, cmd Command, def string, encode func(def string) ([]byte, error)) (Answer, error) {
	def = strings.TrimSpace(def)
	digest, canonical := c.t.Defined(def)
	if digest != "" {
		def = digest
	}
	if inline(def) {
		if err := c.t.Prepare(ctx, def); err != nil {
			return Answer{}, err
		}
	}
	var err error
	if cmd.Body, err = encode(def); err != nil {
		return Answer{}, err
	}
	a, err := c.t.Command(ctx, cmd)
	var refused *Error
	if canonical == nil || !errors.As(err, &refused) || refused.Code != "unknown_definition" {
		return a, err
	}
	if cmd.Body, err = encode(string(canonical)); err != nil {
		return Answer{}, err
	}
	if cmd.ID != "" {
		cmd.ID += "/inline" // other content, so another command
	}
	return c.t.Command(ctx, cmd)
}

// inline reports whether what to start is a definition itself.
func inline(def string) bool { return strings.HasPrefix(def, "{") }

// encode makes the command's object. Most starts have a name and an input.
func (o *StartOptions) encode(def string, in any) ([]byte, error) {
	b := append(make([]byte, 0, usualStart), `{"definition":`...)
	b, err := appendDefinition(b, def)
	if err != nil {
		return nil, err
	}
	for _, field := range [...]struct {
		name  string
		value any
	}{
		{"input", in}, {"policies", o.Policies}, {"options", o.Options},
		{"context", o.Context}, {"component_context", o.ComponentContext}, {"by", given(o.By.Who)}, {"why", given(o.By.Why)},
	} {
		if field.value == nil {
			continue
		}
		value, err := events.MarshalPlain(field.value)
		if err != nil {
			return nil, fmt.Errorf("encode the start's %s: %w", field.name, err)
		}
		b = append(append(append(append(b, `,"`...), field.name...), `":`...), value...)
	}
	return append(b, '}'), nil
}

// appendDefinition appends what names a definition, or the definition itself.
func appendDefinition(b []byte, def string) ([]byte, error) {
	if !inline(def) {
		return events.AppendText(b, def), nil
	}
	compact, err := events.MarshalPlain(json.RawMessage(def))
	if err != nil {
		return nil, fmt.Errorf("encode the definition: %w", err)
	}
	return append(b, compact...), nil
}

// usualStart is room for most starts.
const usualStart = 256
