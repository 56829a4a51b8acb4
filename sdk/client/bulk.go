package client

import (
	"context"
	"crypto/rand"
	"iter"
	"strings"
	"time"
)

// BulkOptions say to which workflows Bulk gives its command, and how fast.
type BulkOptions struct {
	// Operation is the ID of the operation; empty: one of its own. The commands have IDs
	// made of it, so an operation that is run again under its ID does not repeat what
	// planners remember that it did: for their dedupe window, 24 hours by default.
	Operation string

	// Where chooses the workflows. Its Cursor is where a former run of the operation left
	// off (BulkResult.Next). Zero is all workflows.
	Where Filter

	Rate     float64       // commands a second, at most; 0: as fast as they are answered
	Patience time.Duration // how long one command may stay without an answer; 0: 2 minutes
}

// NewOperation is an ID for an operation.
func NewOperation() string { return "op-" + strings.ToLower(rand.Text()[:16]) }

// BulkCommand is what Bulk does to each workflow: BulkRetry, BulkCancel, BulkSkip or
// BulkDelete makes one.
type BulkCommand struct {
	name string
	body any
	skip bool   // of runnables that have failed, each by a command of its own
	of   string // the component that they are of; empty: any
	by   By
}

// BulkRetry is Retry.
func BulkRetry(o RetryOptions) BulkCommand { return BulkCommand{name: "retry", body: o} }

// BulkCancel is Cancel.
func BulkCancel(by By) BulkCommand { return BulkCommand{name: "cancel", body: by} }

// BulkDelete is Delete.
func BulkDelete(force bool, by By) BulkCommand {
	return BulkCommand{name: "delete", body: deletion{force, by}}
}

// BulkSkip is Skip of each runnable that has failed: of those of a component, or of any
// where it is empty.
func BulkSkip(component string, by By) BulkCommand {
	return BulkCommand{name: "skip", skip: true, of: component, by: by}
}

// BulkOutcome is what became of the command to one workflow.
type BulkOutcome string

// What may become of it.
const (
	BulkDone      BulkOutcome = "done"
	BulkUnchanged BulkOutcome = "unchanged" // it was so already, or nothing had failed that could be skipped
	BulkWritten   BulkOutcome = "written"   // Kafka has it, and no planner has answered in time: it will be decided
	BulkRefused   BulkOutcome = "refused"
	BulkFailed    BulkOutcome = "failed" // it is not known what became of it
)

// BulkResult is what became of the command to one workflow.
type BulkResult struct {
	Workflow string
	Outcome  BulkOutcome
	Err      error  // of one that was refused, an *Error, or has failed
	Next     string // the Cursor with which the operation goes on behind this workflow

	// InHand is of the last pair, with an error: to how many workflows the command may have
	// been given without having been told of.
	InHand int
}

// Bulk gives a command to each workflow that is chosen, newest first, a few at a time, and
// tells what became of it, in that order. What a gateway or its planners cannot take just
// now waits. It is one pass: workflows that are started meanwhile are left alone.
//
// Once ctx ends no more are given; those that were are waited for, for some seconds,
// and told, and the last pair has the error of ctx. An operation that ended so, or was
// killed, goes on with the same Operation and the Cursor of the last result that was
// seen: it neither repeats nor leaves out any, and what has failed again since is
// not retried again. Other last errors are of a gateway that has not answered for too long, or does not
// permit the command.
func (c *Client) Bulk(ctx context.Context, cmd BulkCommand, o BulkOptions) iter.Seq2[BulkResult, error] {
	if o.Operation == "" {
		o.Operation = NewOperation()
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	return func(yield func(BulkResult, error) bool) {
		b := &bulk{c: c, cmd: cmd, o: o, pace: newPace(o.Rate)}
		b.run(ctx, yield)
	}
}

// String is the command's name.
func (b BulkCommand) String() string { return b.name }
