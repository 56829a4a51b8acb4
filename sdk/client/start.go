package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

type rawJSON = json.RawMessage

// StartOption changes how Start starts.
type StartOption func(*start)

type start struct {
	id     string
	key    string
	exists Exists
	wait   waitMode
	body   startBody
}

// startBody is what options add to a start.
type startBody struct{ policies, options, context, by, why any }

// Exists says what Start does when the id is taken.
type Exists uint8

// What to do with an id that exists.
const (
	ExistsFail Exists = iota // the error ErrAlreadyStarted (the default)
	ExistsUse                // the run that exists
)

// ID gives the workflow its id; without it Start makes a random one.
func ID(id string) StartOption { return func(s *start) { s.id = id } }

// IfExists says what to do when the id is taken.
func IfExists(e Exists) StartOption { return func(s *start) { s.exists = e } }

// IdempotencyKey makes repetitions of Start one: the same key, id and content
// start once and get the first answer.
func IdempotencyKey(key string) StartOption { return func(s *start) { s.key = key } }

// NoWait returns as soon as Kafka has the command: a refusal shows later only.
func NoWait() StartOption { return func(s *start) { s.wait = waitNone } }

// UntilDrained waits until the workflow is idle, failed, stopped or closed; its
// results come with it.
func UntilDrained() StartOption { return func(s *start) { s.wait = waitDrained } }

// Policies adds rules for this run: any value that marshals to a list of rules.
func Policies(rules any) StartOption { return func(s *start) { s.body.policies = rules } }

// RunOptions sets options of this run: any value that marshals to an object.
func RunOptions(o any) StartOption { return func(s *start) { s.body.options = o } }

// RunContext gives values to the run: any value that marshals to an object.
func RunContext(values any) StartOption { return func(s *start) { s.body.context = values } }

// By says who starts it and why; kept in the history.
func By(who, why string) StartOption {
	return func(s *start) { s.body.by, s.body.why = given(who), given(why) }
}

// given is a text, or nil for none.
func given(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Start starts a workflow. def is a registered name, name@version or digest, or
// an inline definition as a JSON object. in is the first input, marshalled to
// JSON; nil starts without one. Unless an option says otherwise it returns when
// the planner has decided.
func (c *Client) Start(ctx context.Context, def string, in any, o ...StartOption) (*Run, error) {
	s := start{wait: waitDecided}
	for _, opt := range o {
		opt(&s)
	}
	if s.id == "" {
		s.id = "wf-" + strings.ToLower(rand.Text())
	}
	run := &Run{c: c, ID: s.id}
	a, err := c.start(ctx, &s, def, in)
	var refused *Error
	if s.exists == ExistsUse && errors.As(err, &refused) && refused.Code == ErrAlreadyStarted.Code {
		run.Started = refused.Workflow
		return run, nil
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.id, err)
	}
	run.Started = a.workflow
	if a.drained {
		run.end = &a
	}
	return run, nil
}

// start sends the command. A definition that this client registered itself is
// named by its digest, and brought along when the planner has not seen it yet:
// what was defined can be started at once, and as it was defined.
func (c *Client) start(ctx context.Context, s *start, def string, in any) (answer, error) {
	def = strings.TrimSpace(def)
	digest, canonical := c.t.defined(def)
	if digest != "" {
		def = digest
	}
	if inline(def) {
		if err := c.t.prepare(ctx, def); err != nil {
			return answer{}, err
		}
	}
	body, err := s.encode(def, in)
	if err != nil {
		return answer{}, err
	}
	cmd := command{name: "start", workflow: s.id, id: s.key, body: body, wait: s.wait}
	a, err := c.t.command(ctx, cmd)
	var refused *Error
	if canonical == nil || !errors.As(err, &refused) || refused.Code != "unknown_definition" {
		return a, err
	}
	if cmd.body, err = s.encode(string(canonical), in); err != nil {
		return answer{}, err
	}
	if cmd.id != "" {
		cmd.id += "/inline" // other content, so another command
	}
	return c.t.command(ctx, cmd)
}

// inline says whether what to start is a definition itself.
func inline(def string) bool { return strings.HasPrefix(def, "{") }

// encode makes the command's object. Most starts have a name and an input.
func (s *start) encode(def string, in any) ([]byte, error) {
	b := append(make([]byte, 0, usualStart), `{"definition":`...)
	if inline(def) {
		compact, err := marshal(json.RawMessage(def))
		if err != nil {
			return nil, fmt.Errorf("encode the definition: %w", err)
		}
		b = append(b, compact...)
	} else {
		b = events.AppendText(b, def)
	}
	for _, field := range [...]struct {
		name  string
		value any
	}{
		{"input", in}, {"policies", s.body.policies}, {"options", s.body.options},
		{"context", s.body.context}, {"by", s.body.by}, {"why", s.body.why},
	} {
		if field.value == nil {
			continue
		}
		value, err := marshal(field.value)
		if err != nil {
			return nil, fmt.Errorf("encode the start's %s: %w", field.name, err)
		}
		b = append(append(append(append(b, `,"`...), field.name...), `":`...), value...)
	}
	return append(b, '}'), nil
}

// usualStart is room for most starts.
const usualStart = 256

// marshal encodes without the HTML escapes of json.Marshal: user values stay as
// they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
