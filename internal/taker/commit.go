package taker

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
)

// commitWait bounds one commit, with its wait for another one.
const commitWait = 5 * time.Second

// commit commits what is done in the partitions that are still ours (E3). What
// fails is due again with the next commit.
func (c *consumer) commit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	select {
	case c.committing <- struct{}{}:
		defer func() { <-c.committing }()
	case <-ctx.Done():
		return
	}
	due := c.due()
	if len(due) == 0 {
		return
	}
	c.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{c.topic: due},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				c.failed(ctx, err)
				return
			}
			c.committed(ctx, due, resp)
		})
}

func (c *consumer) due() map[int32]kgo.EpochOffset {
	l := c.taker.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	var due map[int32]kgo.EpochOffset
	for n, p := range c.partitions {
		if p.due() {
			if due == nil {
				due = map[int32]kgo.EpochOffset{}
			}
			due[n] = p.done
		}
	}
	return due
}

// committed notes what the broker took.
func (c *consumer) committed(ctx context.Context, due map[int32]kgo.EpochOffset, resp *kmsg.OffsetCommitResponse) {
	l := c.taker.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, topic := range resp.Topics {
		for _, rp := range topic.Partitions {
			if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
				c.failed(ctx, err)
				continue
			}
			if p := c.partitions[rp.Partition]; p != nil {
				p.committed = due[rp.Partition].Offset
			}
		}
	}
}

// failed logs a failed commit; a moving group or a taker that ends is no news.
func (c *consumer) failed(ctx context.Context, err error) {
	if !kafka.IsMembership(err) && ctx.Err() == nil {
		c.taker.log.Warn("committing offsets failed; it is tried again", "topic", c.topic, "error", err)
	}
}
