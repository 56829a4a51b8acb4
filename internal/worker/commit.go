package worker

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
)

// commitWait bounds one commit, with its wait for another one.
const commitWait = 5 * time.Second

// commit commits what is done in the partitions that are still ours. What
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
	offsets := make(map[int32]kgo.EpochOffset, len(due))
	for n, d := range due {
		offsets[n] = d.at
	}
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error { return annotate(req, due) })
	c.client.Load().CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{c.topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				c.failed(ctx, err)
				return
			}
			c.committed(ctx, due, resp)
		})
}

// due is what is to be committed of a partition.
type due struct {
	of      *partition
	at      kgo.EpochOffset
	note    string
	changes uint64 // that it says
}

// annotate puts the notes beside their offsets.
func annotate(req *kmsg.OffsetCommitRequest, all map[int32]due) error {
	for i := range req.Topics {
		parts := req.Topics[i].Partitions
		for j := range parts {
			note := all[parts[j].Partition].note
			parts[j].Metadata = &note
		}
	}
	return nil
}

func (c *consumer) due() map[int32]due {
	l := c.worker.tracker
	l.mu.Lock()
	defer l.mu.Unlock()
	var all map[int32]due
	for n, p := range c.partitions {
		if p.due() {
			if all == nil {
				all = map[int32]due{}
			}
			at, note := p.point(c.mostNote)
			all[n] = due{p, at, note, p.changes}
		}
	}
	return all
}

// committed notes what the broker took.
func (c *consumer) committed(ctx context.Context, all map[int32]due, resp *kmsg.OffsetCommitResponse) {
	l := c.worker.tracker
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, topic := range resp.Topics {
		for _, rp := range topic.Partitions {
			err := kerr.ErrorForCode(rp.ErrorCode)
			if errors.Is(err, kerr.OffsetMetadataTooLarge) {
				c.mostNote = min(c.mostNote, len(all[rp.Partition].note)) / 2
			}
			if err != nil {
				c.failed(ctx, err)
				continue
			}
			if d := all[rp.Partition]; d.of != nil {
				d.of.committed = d.changes // it may have moved since, and be another assignment's now
			}
		}
	}
}

// failed logs a failed commit; a moving group or a worker that ends is no news.
func (c *consumer) failed(ctx context.Context, err error) {
	if !kafka.IsMembership(err) && ctx.Err() == nil {
		c.worker.log.Warn("committing offsets failed; it is tried again", "topic", c.topic, "error", err)
	}
}
