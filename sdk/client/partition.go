package client

import (
	"context"

	"github.com/heddle-run/heddle/shared/events"
)

// Loss is records that are gone: those of one of a partition's logs from an offset to
// before another one.
type Loss struct {
	Log  string `json:"log"` // commands, inbox or journal
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// AcceptLoss lets a partition that is blocked by a loss go on without what is gone. It
// is about exactly that: the readiness of the partition names it. by needs both who and
// why. It reports whether the partition goes on; it does not yet if no planner has answered
// in time, and then its readiness tells.
func (c *Client) AcceptLoss(ctx context.Context, partition int32, gone Loss, by By) (goesOn bool, err error) {
	return c.operate(ctx, "accept_loss", partition, struct {
		Loss
		By
	}{gone, by})
}

// ReleasePartition takes the lease of a partition from its owner, whatever that one says: an owner that lives stops,
// and whoever the partition is assigned to takes over; one that is dead is not waited for any longer. by needs both who
// and why. It reports whether a planner has obeyed: false where none has answered in time, and then the word
// is in Kafka, and counts once one does.
func (c *Client) ReleasePartition(ctx context.Context, partition int32, by By) (obeyed bool, err error) {
	return c.operate(ctx, "force_release", partition, by)
}

// MarkPartitionStale says that the lease of a partition is not to be trusted: the partition is not ready, for the
// reason of by, until its owner renews the lease or another one takes over. It reports what ReleasePartition does.
func (c *Client) MarkPartitionStale(ctx context.Context, partition int32, by By) (obeyed bool, err error) {
	return c.operate(ctx, "mark_stale", partition, by)
}

// ReplayPartition has an input log of a partition read again from a cursor, commands@OFFSET or inbox@OFFSET. What is decided
// already is not decided again. An empty cursor clears the request. It reports what ReleasePartition does.
func (c *Client) ReplayPartition(ctx context.Context, partition int32, cursor string, by By) (obeyed bool, err error) {
	return c.operate(ctx, "request_replay", partition, struct {
		Cursor string `json:"cursor,omitempty"`
		By
	}{cursor, by})
}

// CheckpointPartition makes all changed rows of a partition due for the changelog now. It reports what ReleasePartition
// does; the age of the newest checkpoint is in the partition's readiness.
func (c *Client) CheckpointPartition(ctx context.Context, partition int32, by By) (obeyed bool, err error) {
	return c.operate(ctx, "checkpoint", partition, by)
}

// operate sends an operator's word to a partition, and reports whether a planner has answered.
func (c *Client) operate(ctx context.Context, name string, partition int32, body any) (obeyed bool, err error) {
	a, err := c.send(ctx, name, events.PartitionWorkflow(partition), "", body, UntilDecided)
	return err == nil && !a.Written, err
}
