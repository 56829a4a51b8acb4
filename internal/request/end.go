package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heddle-run/heddle/shared/events"
)

// End is a workflow that cannot go on by itself: idle, failed with nothing
// active or in hand, stopped or closed. W and R are what the caller makes of it.
type End[W, R any] struct {
	Workflow W `json:"workflow"` // its summary
	Results  R `json:"results"`  // object: the latest value of each output
}

// Drained is an End as it came.
type Drained = End[json.RawMessage, json.RawMessage]

// asWritten takes JSON as workers may have given it: names may come twice.
var asWritten = jsontext.AllowDuplicateNames(true)

// RefusedError carries the reply that refused a command or query.
type RefusedError struct{ Reply events.Reply }

func (e *RefusedError) Error() string {
	return e.Reply.Refusal.Code + ": " + e.Reply.Refusal.Message
}

const (
	// firstLook is how long the reply to a new command is trusted; a command
	// under an id of the caller's may be a repetition, whose work is long done.
	firstLook      = 2 * time.Second
	firstLookAgain = 250 * time.Millisecond
	maxLookPause   = 4 * time.Second

	// lookTimeout bounds one look at a workflow.
	lookTimeout = 10 * time.Second
)

// Drained is WaitEnd for those who take the end as it came.
func (c *Call) Drained(ctx context.Context, workflow string) (Drained, error) {
	return WaitEnd[json.RawMessage, json.RawMessage](ctx, c, workflow)
}

// WaitEnd waits for the end of the work that the command causes, at most until
// ctx ends. It trusts the reply, and looks for itself now and then: a reply can
// be lost, and a repeated command has none but its first answer. What it finds at
// rest may be the work of others, as long as nothing tells that this command was
// not refused: so it sends the command again under the command's id.
func WaitEnd[W, R any](ctx context.Context, c *Call, workflow string) (End[W, R], error) {
	var none End[W, R]
	pause := firstLook
	if c.repeatable {
		pause = firstLookAgain
	}
	for ; ; pause = min(2*pause, maxLookPause) {
		some, enough := context.WithTimeout(ctx, pause)
		end, err := endReply[W, R](some, c, workflow)
		enough()
		switch {
		case err == nil:
			return *end, nil
		case ctx.Err() != nil:
			return none, ctx.Err()
		case !late(err):
			return none, err
		}
		d, done, err := c.client.Look(ctx, workflow)
		if !done || err != nil {
			continue // the command is not decided yet, or nobody answers: go on waiting
		}
		past, cancel := context.WithCancel(ctx) // what is there already
		cancel()
		switch end, err := endReply[W, R](past, c, workflow); {
		case err == nil:
			return *end, nil
		case !errors.Is(err, context.Canceled):
			return none, err
		case c.accepted:
			return decodeEnd[W, R](d, workflow)
		}
		c.resend(ctx)
	}
}

// endReply waits for the reply that tells the end and decodes it at one go. It
// passes over the decision; a refusal is a *RefusedError.
func endReply[W, R any](ctx context.Context, c *Call, workflow string) (*End[W, R], error) {
	for {
		raw, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		var r struct {
			Kind    string          `json:"kind"`
			Refusal *events.Refusal `json:"refusal"`
			Body    *End[W, R]      `json:"body"` // of a decision the summary, which has no such fields
		}
		err = jsonv2.Unmarshal(raw, &r, asWritten)
		switch {
		case r.Refusal != nil: // its body is of another kind
			return nil, refused(raw)
		case err != nil:
			return nil, fmt.Errorf("decode the end of %s: %w", workflow, err)
		case r.Kind != events.ReplyDrained:
			c.accepted = true
		case r.Body == nil:
			return nil, fmt.Errorf("the reply that tells the end of %s has no body", workflow)
		default:
			return r.Body, nil
		}
	}
}

func refused(raw []byte) error {
	r, err := decode(raw)
	if err != nil {
		return err
	}
	return &RefusedError{r}
}

// decodeEnd makes of an end what the caller wants.
func decodeEnd[W, R any](d Drained, workflow string) (end End[W, R], err error) {
	err = errors.Join(jsonv2.Unmarshal(d.Workflow, &end.Workflow, asWritten), jsonv2.Unmarshal(d.Results, &end.Results, asWritten))
	if err != nil {
		return end, fmt.Errorf("decode the end of %s: %w", workflow, err)
	}
	return end, nil
}

// Look reads a workflow, and its results if it has drained. Workflow is set in
// any case.
func (cl *Client) Look(ctx context.Context, workflow string) (d Drained, drained bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if d.Workflow, err = cl.Read(ctx, events.Query{Kind: "workflow", Workflow: workflow}); err != nil {
		return d, false, err
	}
	var head struct {
		Status string `json:"status"`
		Counts struct {
			Active uint64 `json:"active"`
		} `json:"counts"`
		InHand bool `json:"in_hand"`
	}
	if err := json.Unmarshal(d.Workflow, &head); err != nil {
		return d, false, fmt.Errorf("decode the status of %s: %w", workflow, err)
	}
	if !Rests(head.Status, head.Counts.Active, head.InHand) {
		return d, false, nil
	}
	raw, err := cl.Read(ctx, events.Query{Kind: "results", Workflow: workflow})
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

// Rests reports whether a workflow of this status cannot go on by itself: a failed
// one still drains what is active, and does what it has in hand, as a retry of much is.
func Rests(status string, active uint64, inHand bool) bool {
	switch status {
	case "idle", "stopped", "completed", "cancelled":
		return true
	case "failed":
		return active == 0 && !inHand
	}
	return false
}

// Await looks until the workflow has drained, or ctx ends; then the error is
// ctx's and Workflow is as of the last look. A look that nobody answers, as while
// a partition changes its owner, is followed by the next one. Short workflows are over within milliseconds, so
// the first looks come soon.
func (cl *Client) Await(ctx context.Context, workflow string) (Drained, error) {
	const first, most = 5 * time.Millisecond, time.Second
	var last Drained
	for wait := first; ; wait = min(2*wait, most) {
		d, done, err := cl.Look(ctx, workflow)
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
func (cl *Client) Read(ctx context.Context, q events.Query) (json.RawMessage, error) {
	return body(cl.Query(ctx, q))
}

// ReadAt is likewise QueryAt for the body alone.
func (cl *Client) ReadAt(ctx context.Context, partition int32, q events.Query) (json.RawMessage, error) {
	return body(cl.QueryAt(ctx, partition, q))
}

func body(r events.Reply, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	if r.Refusal != nil {
		return nil, &RefusedError{r}
	}
	return r.Body, nil
}
