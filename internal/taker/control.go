package taker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// control follows task-control, whole and from its end: an attempt hears of its
// cancellation also when the slots are full or its partition has moved.
func (t *Taker) control(ctx context.Context) {
	for {
		fetches := t.tail.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		failed := false
		fetches.EachError(func(topic string, p int32, err error) {
			failed = true
			t.log.Warn("reading cancellations", "topic", topic, "partition", p, "error", err)
		})
		fetches.EachRecord(t.cancelled)
		if failed && pause(ctx, errorPause) != nil {
			return
		}
	}
}

func (t *Taker) cancelled(r *kgo.Record) {
	var c events.TaskCancel
	if err := wire.Unmarshal(r.Value, &c); err != nil {
		t.log.Warn("a cancellation cannot be read", "workflow", string(r.Key), "offset", r.Offset, "error", err)
		return
	}
	k, ok := keyOf(c.Token)
	if !ok {
		t.log.Warn("a cancellation has no token", "workflow", string(r.Key), "offset", r.Offset)
		return
	}
	cause := ErrCancelled
	if c.Reason != "" {
		cause = fmt.Errorf("%w: %s", ErrCancelled, c.Reason)
	}
	t.ledger.cancel(k, cause, r.Timestamp)
}
