package archiver

import (
	"context"
	"sync/atomic"

	"github.com/heddle-run/heddle/internal/journal"
)

// Bounds of what is read while a partition's runs are written.
const (
	mostAhead      = 1000
	mostAheadBytes = 4 << 20
)

// ahead are the records that are read and not taken. One goroutine puts and one takes.
type ahead struct {
	list  chan journal.Entry
	bytes atomic.Int64
	room  chan struct{} // there may be some
}

func newAhead() *ahead {
	return &ahead{list: make(chan journal.Entry, mostAhead), room: make(chan struct{}, 1)}
}

// put waits for room, whatever size an entry has.
func (a *ahead) put(ctx context.Context, e journal.Entry) error {
	for a.bytes.Load() > mostAheadBytes {
		select {
		case <-a.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a.bytes.Add(int64(len(e.Value)))
	select {
	case a.list <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// took says that an entry of the list is taken.
func (a *ahead) took(e journal.Entry) {
	a.bytes.Add(-int64(len(e.Value)))
	select {
	case a.room <- struct{}{}:
	default:
	}
}
