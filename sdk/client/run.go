package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
)

// Run is a workflow that was started or looked up. It is safe for concurrent use.
type Run struct {
	ID string
	// Started is the workflow as of the answer to Start; nil when Start did not
	// wait for one.
	Started *Workflow

	c   *Client
	mu  sync.Mutex
	end *Answer // as of the last time it was drained
}

// Run is a handle on a workflow by its id. It asks nothing.
func (c *Client) Run(id string) *Run { return &Run{c: c, ID: id} }

// Wait waits until the workflow is idle, failed, stopped or closed and returns
// it as it is then. What Start waited for is not waited for again.
func (r *Run) Wait(ctx context.Context) (*Workflow, error) {
	a, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	return a.Workflow, nil
}

func (r *Run) wait(ctx context.Context) (*Answer, error) {
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if end != nil {
		return end, nil
	}
	a, err := r.c.t.Await(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", r.ID, err)
	}
	r.mu.Lock()
	r.end = &a
	r.mu.Unlock()
	return &a, nil
}

// Signal is Client.Signal to this workflow.
func (r *Run) Signal(ctx context.Context, name string, value any, o SignalOptions) (*Workflow, error) {
	return r.c.Signal(ctx, r.ID, name, value, o)
}

// Explain says why the workflow is where it is.
func (r *Run) Explain(ctx context.Context, o PageOptions) (*Explanation, error) {
	return r.c.Explain(ctx, r.ID, o)
}

// Results waits as Wait does and returns the latest value of each output.
func (r *Run) Results(ctx context.Context) (map[string]json.RawMessage, error) {
	a, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	return a.Results, nil
}

// Result waits as Wait does and decodes one output. A workflow that did not
// come to rest by itself is a *FailedError.
func Result[O any](ctx context.Context, r *Run, output string) (O, error) {
	var out O
	a, err := r.wait(ctx)
	if err != nil {
		return out, err
	}
	if s := a.Workflow.Status; s != StatusIdle && s != StatusCompleted {
		return out, &FailedError{Workflow: a.Workflow}
	}
	raw, ok := a.Results[output]
	if !ok {
		return out, fmt.Errorf("workflow %s has no output %q", r.ID, output)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("decode output %q of %s: %w", output, r.ID, err)
	}
	return out, nil
}

// Events are the workflow's events: the history so far, then live, until
// the workflow is closed, ctx ends, or the loop is left. The last pair holds the error, if there was one.
func (r *Run) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		left := false
		err := r.c.t.Events(ctx, r.ID, func(e Event) bool {
			left = !yield(e, nil)
			return !left
		})
		if err != nil && !left {
			yield(Event{}, fmt.Errorf("events of %s: %w", r.ID, err))
		}
	}
}
