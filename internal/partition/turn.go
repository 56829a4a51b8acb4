package partition

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
)

// turn is a recovery's right to be one of those that work at the same time. It is
// lent to others while nothing comes of what is read: what a broker keeps back for
// one partition keeps no other one from recovering.
type turn struct {
	ctx   context.Context // of the recovery
	slots chan struct{}
	held  bool
	over  bool // the recovery is: nothing is held any more
}

// take waits for a slot.
func (t *turn) take() error {
	if t.over || t.held {
		return nil
	}
	select {
	case t.slots <- struct{}{}:
		t.held = true
		return nil
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
}

func (t *turn) lend() {
	if t.held {
		t.held = false
		<-t.slots
	}
}

// end is the end of the recovery.
func (t *turn) end() {
	t.lend()
	t.over = true
}

// polled takes note of what one poll has brought. An owner that can get no slot any more has
// ended, and finds that out by its own context.
func (t *turn) polled(fetches kgo.Fetches) kgo.Fetches {
	if fetches.NumRecords() == 0 {
		t.lend()
		return fetches
	}
	if err := t.take(); err != nil {
		return kgo.NewErrFetch(err)
	}
	return fetches
}

// turnReader is a LogReader in a recovery.
type turnReader struct {
	LogReader
	turn *turn
}

// PollFetches implements LogReader.
func (l turnReader) PollFetches(ctx context.Context) kgo.Fetches {
	return l.turn.polled(l.LogReader.PollFetches(ctx))
}

// turnSource is a journal.Source in a recovery.
type turnSource struct {
	journal.Source
	turn *turn
}

// OpenLog implements journal.Source.
func (s turnSource) OpenLog() (journal.Log, error) {
	cl, err := s.Source.OpenLog()
	if err != nil {
		return nil, err
	}
	return turnLog{cl, s.turn}, nil
}

type turnLog struct {
	journal.Log
	turn *turn
}

// PollFetches implements journal.Log.
func (l turnLog) PollFetches(ctx context.Context) kgo.Fetches {
	return l.turn.polled(l.Log.PollFetches(ctx))
}
