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
	a, err := c.send(ctx, "accept_loss", events.PartitionWorkflow(partition), "", struct {
		Loss
		By
	}{gone, by}, UntilDecided)
	return err == nil && !a.Written, err
}
