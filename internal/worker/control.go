package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// control follows task-control, whole: an attempt hears of its cancellation also when
// the slots are full or its partition has moved.
func (t *Worker) control(ctx context.Context) {
	for {
		fetches := t.tail.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		if failed := t.heard(fetches); failed && pause(ctx, errorPause) != nil {
			return
		}
	}
}

// heard takes cancellations, and reports whether some could not be read.
func (t *Worker) heard(fetches kgo.Fetches) (failed bool) {
	_, failed = t.hearing.Failed(t.tail, fetches)
	fetches.EachRecord(t.cancelled)
	return failed
}

func (t *Worker) cancelled(r *kgo.Record) {
	var c events.TaskCancel
	if err := errors.Join(kafka.CheckFormat(r, events.TaskVersion), wire.Unmarshal(r.Value, &c)); err != nil {
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
	at := time.Now()
	if r.Timestamp.Before(at) { // a stamp that is ahead would let older cancellations be forgotten
		at = r.Timestamp
	}
	if begun := t.tracker.cancel(k, cause, at); !begun {
		t.elsewhere(&c)
	}
}

// elsewhere tells those who hand work over that an attempt is cancelled that has not begun here.
func (t *Worker) elsewhere(c *events.TaskCancel) {
	for _, p := range t.pools {
		if p.Cancelled != nil {
			p.Cancelled(c)
		}
	}
}
