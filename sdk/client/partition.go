package client

import (
	"context"

	"github.com/heddle-run/heddle/shared/events"
)

// Loss is records of an input log of a partition that are gone unread: From the offset of
// the first, To that behind the last, as the partition's readiness names them.
type Loss struct {
	Log  string `json:"log"` // commands or inbox
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// AcceptLoss lets a blocked partition go on without records that are gone. It counts for
// exactly these; by has to say who accepts it, and why. Workflows that they may concern
// are paused, and resumed by Resume once somebody has looked at them.
func (c *Client) AcceptLoss(ctx context.Context, partition int32, l Loss, by By) error {
	_, err := c.control(ctx, "accept_loss", events.PartitionWorkflow(partition), struct {
		Loss
		By
	}{l, by})
	return err
}
