package adapter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	// orphansMax bounds the works that wait to be cancelled: some 40 MiB. Behind it the one that waits for the longest is
	// given up.
	orphansMax = 1 << 18
	// orphansFor is for how long one is tried: as long as task-control would tell the next executor of it.
	orphansFor = 6 * time.Hour
	// orphansPause is the longest pause behind a failure. It is short, as those that can be cancelled wait behind those
	// that cannot.
	orphansPause = time.Second
)

// orphans are works to be cancelled for which no attempt waits: their executor has died, or has handed them back, or
// could not cancel them in the time that it has. They are cancelled one after the other, in a goroutine that lives while
// there are any. One that is not cancelled goes to the end of the queue, so it keeps no other waiting.
type orphans struct {
	cancel   func(executor.Ref) error
	stopping <-chan struct{}
	log      *slog.Logger
	limit    int

	mu      sync.Mutex
	waiting []orphan
	known   map[string]struct{} // the keys of waiting: one that is told of twice is cancelled once
	busy    bool                // the goroutine lives
}

type orphan struct {
	ref    executor.Ref
	since  time.Time // when it was told of
	failed bool      // it was tried before
}

// Cancelled hears that an attempt is cancelled that has not begun in this worker: what it had begun elsewhere has to
// end. It returns at once.
func (h *Handler) Cancelled(c *events.TaskCancel) {
	token := c.Token
	if len(c.Work) > 0 {
		token = c.Work
	}
	h.orphans.add(orphan{ref: executor.Ref{Key: keyOf(token)}, since: time.Now()})
}

func (o *orphans) add(next orphan) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, again := o.known[next.ref.Key]; again {
		return
	}
	if o.known == nil {
		o.known = map[string]struct{}{}
	}
	if len(o.waiting) >= o.limit {
		o.lost(o.take(), "more works wait to be cancelled than are kept")
	}
	o.waiting = append(o.waiting, next)
	o.known[next.ref.Key] = struct{}{}
	if !o.busy {
		o.busy = true
		go o.run()
	}
}

// take takes the first one; o.mu is held.
func (o *orphans) take() orphan {
	next := o.waiting[0]
	o.waiting = o.waiting[1:]
	delete(o.known, next.ref.Key)
	return next
}

// next is the first one. When there is none the goroutine is at its end.
func (o *orphans) next() (next orphan, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		o.busy, o.waiting, o.known = false, nil, nil
		return next, false
	}
	return o.take(), true
}

func (o *orphans) run() {
	pause := firstPause
	for {
		next, more := o.next()
		if !more {
			return
		}
		err := o.cancel(next.ref)
		if err == nil {
			pause = firstPause
			continue
		}
		o.again(next, err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-o.stopping:
			timer.Stop()
			o.leave()
			return
		}
		pause = min(2*pause, orphansPause)
	}
}

// again puts one that was not cancelled behind all others.
func (o *orphans) again(next orphan, err error) {
	if time.Since(next.since) >= orphansFor {
		o.lost(next, err.Error())
		return
	}
	if !next.failed {
		o.log.Warn("a work is not cancelled; it is tried again", "work", next.ref.Key, "id", next.ref.ID, "error", err)
	}
	next.failed = true
	o.add(next)
}

// leave ends the goroutine of an executor that stops while something cannot be cancelled: the next one that starts
// reads in task-control what is left.
func (o *orphans) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.waiting); n > 0 {
		o.log.Warn("works are not cancelled by an executor that stops; the next one that starts cancels them", "works", n)
	}
	o.busy, o.waiting, o.known = false, nil, nil
}

func (o *orphans) lost(gone orphan, why string) {
	o.log.Error("a work is not cancelled and goes on", "work", gone.ref.Key, "id", gone.ref.ID, "error", why)
}

// cancelOnce tries to cancel a work.
func (h *Handler) cancelOnce(ref executor.Ref) error {
	ctx, stop := context.WithTimeout(context.Background(), cancelFor)
	defer stop()
	return h.adapter.Cancel(ctx, ref)
}
