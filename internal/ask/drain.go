package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// Drained is a workflow that cannot go on by itself: idle, failed with nothing
// active, stopped or closed.
type Drained struct {
	Workflow json.RawMessage // its summary
	Results  json.RawMessage // object: the latest value of each output
}

// RefusedError carries the reply that refused a command or query.
type RefusedError struct{ Reply events.Reply }

func (e *RefusedError) Error() string {
	return e.Reply.Refusal.Code + ": " + e.Reply.Refusal.Message
}

const (
	// firstLook is how long the reply to a new command is trusted; a command
	// under an id of the caller's may be a repetition, whose work is long done.
	firstLook       = 2 * time.Second
	firstLookAgain  = 250 * time.Millisecond
	mostBetweenLook = 4 * time.Second

	// lookTimeout bounds one look at a workflow.
	lookTimeout = 10 * time.Second
)

// Drained waits for the end of the work that the command causes, at most until
// ctx ends. It trusts the reply, and looks for itself now and then: a reply can
// be lost, and a repeated command has none but its first answer.
func (c *Call) Drained(ctx context.Context, workflow string) (Drained, error) {
	pause := firstLook
	if c.repeatable {
		pause = firstLookAgain
	}
	for ; ; pause = min(2*pause, mostBetweenLook) {
		some, cancel := context.WithTimeout(ctx, pause)
		r, err := c.drainedReply(some)
		cancel()
		switch {
		case err == nil && r.Refusal != nil:
			return Drained{}, &RefusedError{r}
		case err == nil:
			return parseDrained(r)
		case ctx.Err() != nil:
			return Drained{}, ctx.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return Drained{}, err
		}
		if d, done, err := c.asker.Look(ctx, workflow); done && err == nil {
			return d, nil
		} // else the command is not decided yet, or nobody answers: go on waiting
	}
}

// drainedReply passes over the decision, unless it is a refusal.
func (c *Call) drainedReply(ctx context.Context) (events.Reply, error) {
	for {
		r, err := c.Next(ctx)
		if err != nil || r.Kind == events.ReplyDrained || r.Refusal != nil {
			return r, err
		}
	}
}

func parseDrained(r events.Reply) (Drained, error) {
	var body struct {
		Workflow json.RawMessage `json:"workflow"`
		Results  json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return Drained{}, fmt.Errorf("decode the results of %s: %w", r.Workflow, err)
	}
	return Drained{body.Workflow, body.Results}, nil
}

// Look reads a workflow, and its results if it has drained. Workflow is set in
// any case.
func (a *Asker) Look(ctx context.Context, workflow string) (d Drained, drained bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if d.Workflow, err = a.Read(ctx, events.Query{Kind: "workflow", Workflow: workflow}); err != nil {
		return d, false, err
	}
	var head struct {
		Status string `json:"status"`
		Counts struct {
			Active uint64 `json:"active"`
		} `json:"counts"`
	}
	if err := json.Unmarshal(d.Workflow, &head); err != nil {
		return d, false, fmt.Errorf("decode the status of %s: %w", workflow, err)
	}
	if !Rests(head.Status, head.Counts.Active) {
		return d, false, nil
	}
	raw, err := a.Read(ctx, events.Query{Kind: "results", Workflow: workflow})
	if err != nil {
		return d, false, err
	}
	var body struct {
		Results json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return d, false, fmt.Errorf("decode the results of %s: %w", workflow, err)
	}
	d.Results = body.Results
	return d, true, nil
}

// Rests says whether a workflow of this status cannot go on by itself: a failed
// one still drains what is active.
func Rests(status string, active uint64) bool {
	switch status {
	case "idle", "stopped", "completed", "cancelled":
		return true
	case "failed":
		return active == 0
	}
	return false
}

// Await looks until the workflow has drained, or ctx ends; then the error is
// ctx's and Workflow is as of the last look. A look that nobody answers, as while
// a partition changes its owner, is followed by the next one.
func (a *Asker) Await(ctx context.Context, workflow string) (Drained, error) {
	const first, most = 20 * time.Millisecond, time.Second
	var last Drained
	for wait := first; ; wait = min(2*wait, most) {
		d, done, err := a.Look(ctx, workflow)
		if ctx.Err() != nil {
			return last, ctx.Err()
		}
		if err == nil && done || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return d, err
		}
		if err == nil {
			last = d
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return last, ctx.Err()
		}
	}
}

// Read is Query for the body alone; a refusal is a *RefusedError.
func (a *Asker) Read(ctx context.Context, q events.Query) (json.RawMessage, error) {
	r, err := a.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	if r.Refusal != nil {
		return nil, &RefusedError{r}
	}
	return r.Body, nil
}
