package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

// By says who asks for something, and why; both are kept in the history.
type By struct {
	Who string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

// InputOptions of an input.
type InputOptions struct {
	Policies       any    `json:"policies,omitempty"`
	Mode           string `json:"mode,omitempty"` // merge (default) or replace the workflow's policies
	Context        any    `json:"context,omitempty"`
	IdempotencyKey string `json:"-"` // the same input twice under one key is one input
	By
}

// Input feeds a workflow and returns when the planner has decided.
func (c *Client) Input(ctx context.Context, id string, in any, o InputOptions) (*Workflow, error) {
	a, err := c.input(ctx, id, in, o, UntilDecided)
	return a.Workflow, err
}

// InputAndWait feeds a workflow and waits until it has drained; the results are
// those of the whole workflow.
func (c *Client) InputAndWait(ctx context.Context, id string, in any, o InputOptions) (*Run, error) {
	a, err := c.input(ctx, id, in, o, UntilDrained)
	if err != nil {
		return nil, err
	}
	run := &Run{c: c, ID: id, Started: a.Workflow}
	if a.Drained {
		run.end = &a
	}
	return run, nil
}

func (c *Client) input(ctx context.Context, id string, in any, o InputOptions, wait Wait) (Answer, error) {
	value, err := events.MarshalPlain(in)
	if err != nil {
		return Answer{}, fmt.Errorf("input of %s: encode: %w", id, err)
	}
	body := struct {
		Input json.RawMessage `json:"input"`
		InputOptions
	}{value, o}
	return c.send(ctx, "input", id, o.IdempotencyKey, body, wait)
}

// send encodes and sends a command.
func (c *Client) send(ctx context.Context, name, id, key string, body any, wait Wait) (Answer, error) {
	b, err := events.MarshalPlain(body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: encode: %w", name, id, err)
	}
	a, err := c.t.Command(ctx, Command{Name: name, Workflow: id, ID: key, Body: b, Wait: wait})
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", name, id, err)
	}
	return a, nil
}

func (c *Client) control(ctx context.Context, name, id string, body any) (*Workflow, error) {
	a, err := c.send(ctx, name, id, "", body, UntilDecided)
	return a.Workflow, err
}

// SignalOptions of a signal.
type SignalOptions struct {
	Key            string `json:"key,omitempty"` // for the components that want one
	IdempotencyKey string `json:"-"`             // the same signal twice under one key is one signal
	By
}

// Signal gives a value to a component that waits for a signal of this name, and returns
// when the planner has decided. While nobody waits for it, it is kept.
func (c *Client) Signal(ctx context.Context, id, name string, value any, o SignalOptions) (*Workflow, error) {
	input, err := events.MarshalPlain(value)
	if err != nil {
		return nil, fmt.Errorf("signal %s of %s: encode: %w", name, id, err)
	}
	body, err := events.MarshalPlain(struct {
		Input json.RawMessage `json:"input"`
		SignalOptions
	}{input, o})
	if err != nil {
		return nil, fmt.Errorf("signal %s of %s: encode: %w", name, id, err)
	}
	if name == "" {
		return nil, &Error{Code: "missing_field", Path: "name", Message: "a signal has a name"}
	}
	a, err := c.t.Command(ctx, Command{Name: "signal", Workflow: id, ID: o.IdempotencyKey, Signal: name, Body: body, Wait: UntilDecided})
	if err != nil {
		return nil, fmt.Errorf("signal %s of %s: %w", name, id, err)
	}
	return a.Workflow, nil
}

// Pause admits no new attempt; active ones finish and count.
func (c *Client) Pause(ctx context.Context, id string, by By) (*Workflow, error) {
	return c.control(ctx, "pause", id, by)
}

// ResumeOptions change what the workflow was given; the zero value changes nothing.
type ResumeOptions struct {
	Policies any `json:"policies,omitempty"` // a list of rules, in place of the workflow's own
	Context  any `json:"context,omitempty"`  // an object, laid over the workflow's own
	By
}

// Resume admits again after pause or stop.
func (c *Client) Resume(ctx context.Context, id string, o ResumeOptions) (*Workflow, error) {
	return c.control(ctx, "resume", id, o)
}

// StopOptions of a stop.
type StopOptions struct {
	Drain   time.Duration // how long active attempts may go on; 0: the workflow's own limit
	Abandon bool          // skip the checkpoint (persist: false); never the journal
	By
}

// Stop drains the workflow and stops it; Resume goes on.
func (c *Client) Stop(ctx context.Context, id string, o StopOptions) (*Workflow, error) {
	body := struct {
		Drain   string `json:"drain,omitempty"`
		Persist *bool  `json:"persist,omitempty"`
		By
	}{By: o.By}
	if o.Drain > 0 {
		body.Drain = o.Drain.String()
	}
	if o.Abandon {
		body.Persist = new(bool)
	}
	return c.control(ctx, "stop", id, body)
}

// Cancel ends the run; open attempts are told.
func (c *Client) Cancel(ctx context.Context, id string, by By) (*Workflow, error) {
	return c.control(ctx, "cancel", id, by)
}

// RetryOptions choose what to retry; the zero value means all that failed.
type RetryOptions struct {
	Runnables []string `json:"runnables,omitempty"`
	Component string   `json:"component,omitempty"`
	Input     any      `json:"input,omitempty"` // an edited input, for one runnable or component
	By
}

// Retry makes failed runnables ready again.
func (c *Client) Retry(ctx context.Context, id string, o RetryOptions) (*Workflow, error) {
	return c.control(ctx, "retry", id, o)
}

// Skip gives up a runnable; what depends on it is suppressed.
func (c *Client) Skip(ctx context.Context, id, runnable string, by By) (*Workflow, error) {
	return c.control(ctx, "skip", id, skipping{runnable, by})
}

// SetPolicies replaces the rules that were given with the workflow by rules, what marshals to a
// list of them. What exists keeps the policy that it was made with.
func (c *Client) SetPolicies(ctx context.Context, id string, rules any, by By) (*Workflow, error) {
	return c.control(ctx, "set_policies", id, struct {
		Policies any `json:"policies"`
		By
	}{rules, by})
}

// Migrate lets a workflow at rest go on with another definition: def is a registered name, name@version
// or digest, or an inline definition as a JSON object. What is open or remembered must have its place there; else the
// error has the code incompatible, and names each component that has none.
func (c *Client) Migrate(ctx context.Context, id, def string, by By) (*Workflow, error) {
	a, err := c.defined(ctx, Command{Name: "migrate", Workflow: id, Wait: UntilDecided}, def, func(def string) ([]byte, error) {
		b, err := appendDefinition(nil, def)
		if err != nil {
			return nil, err
		}
		return events.MarshalPlain(struct {
			Definition json.RawMessage `json:"definition"`
			By
		}{b, by})
	})
	if err != nil {
		return nil, fmt.Errorf("migrate %s: %w", id, err)
	}
	return a.Workflow, nil
}

// Checkpoint makes the workflow's changes due for the changelog now.
func (c *Client) Checkpoint(ctx context.Context, id string, by By) (*Workflow, error) {
	return c.control(ctx, "checkpoint", id, by)
}

// Delete removes a closed workflow; force cancels an open one first.
func (c *Client) Delete(ctx context.Context, id string, force bool, by By) error {
	_, err := c.control(ctx, "delete", id, deletion{force, by})
	return err
}

// Complete gives the result of an attempt by its token.
func (c *Client) Complete(ctx context.Context, token string, result any) (*Workflow, error) {
	value, err := events.MarshalPlain(result)
	if err != nil {
		return nil, fmt.Errorf("complete: encode the result: %w", err)
	}
	return c.attempt(ctx, "complete", token, struct {
		Result json.RawMessage `json:"result"`
	}{value})
}

// Fail fails an attempt by its token; a *task.Error says more than another error. The
// wait that it may ask for is for workers only.
func (c *Client) Fail(ctx context.Context, token string, failure error) (*Workflow, error) {
	said, ok := errors.AsType[*task.Error](failure)
	if !ok {
		said = &task.Error{Message: failure.Error()}
	}
	e := said.TaskError()
	return c.attempt(ctx, "fail", token, struct {
		Error attemptError `json:"error"`
	}{attemptError{e.Type, e.Message, !e.NonRetryable, e.Details}})
}

// attemptError is the API's form of a failure.
type attemptError struct {
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// Heartbeat says that somebody still works on an attempt.
func (c *Client) Heartbeat(ctx context.Context, token string, details any) (*Workflow, error) {
	return c.attempt(ctx, "heartbeat", token, struct {
		Details any `json:"details,omitempty"`
	}{details})
}

// attempt sends a command to the workflow that the token names.
func (c *Client) attempt(ctx context.Context, name, token string, body any) (*Workflow, error) {
	sealed, err := events.ParseTokenText(token)
	if err != nil {
		return nil, &Error{Code: "invalid_field", Path: "token", Message: "is not a task token"}
	}
	t, err := events.PeekToken(sealed)
	if err != nil {
		return nil, &Error{Code: "invalid_field", Path: "token", Message: "is not a task token"}
	}
	b, err := events.MarshalPlain(body)
	if err != nil {
		return nil, fmt.Errorf("%s: encode: %w", name, err)
	}
	a, err := c.t.Command(ctx, Command{Name: name, Workflow: t.Workflow, Token: token, Body: b, Wait: UntilDecided})
	if err != nil {
		return nil, fmt.Errorf("%s an attempt of %s: %w", name, t.Workflow, err)
	}
	return a.Workflow, nil
}
