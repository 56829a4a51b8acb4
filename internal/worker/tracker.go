package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Records of a settled token that were written, or come, up to so long behind its
	// end are dropped (E2): a recovering planner or a rebalance brought them again,
	// however long they have waited in their queue. It is less than the 30 s after
	// which a planner publishes again on purpose: by then the outcome itself may
	// be lost, and the attempt must run.
	recentFor = 20 * time.Second
	// A settled token is known for this long, behind which its records run again,
	// and recentMax bounds how many are known.
	settledFor = time.Hour
	recentMax  = 1 << 16

	// A cancellation is known as long as task-control keeps it (topics.yaml), so
	// that its attempt does not begin however long it waits in its queue.
	cancelledFor = 6 * time.Hour
	// cancelledMax bounds the cancellations of attempts that are not here: some 12
	// MiB. Behind it the oldest are forgotten.
	cancelledMax = 1 << 18

	// maxUnsettled bounds the attempts beyond the slots whose outcomes are not
	// acknowledged yet, and maxReporting the bytes of all reports that are not:
	// behind either polling waits.
	maxUnsettled = 1 << 14
	maxReporting = 64 << 20
)

// tracker knows which attempts a Worker has.
type tracker struct {
	mu        sync.Mutex
	now       time.Time        // the latest that it was told: while any are open, a sweep ago at most
	open      map[key]*Attempt // taken and not settled
	recent    window           // settled
	cancelled window           // cancelled before they were taken
	limit     int              // of open
	room      chan struct{}    // signalled when there is less of either than its limit
	awake     chan struct{}    // signalled when open is no longer empty
	reporting atomic.Int64     // bytes of reports that are not acknowledged
}

func newTracker(slots int) *tracker {
	return &tracker{
		now:       time.Now(),
		open:      map[key]*Attempt{},
		recent:    newWindow(settledFor, recentMax),
		cancelled: newWindow(cancelledFor, cancelledMax),
		limit:     slots + maxUnsettled,
		room:      make(chan struct{}, 1),
		awake:     make(chan struct{}, 1),
	}
}

// take enters the attempt of the record at a place; the caller holds mu. It
// returns false when nothing is to be done for it: its token was
// taken before, and the record's place is done together with the first.
func (l *tracker) take(a *Attempt, at place, now time.Time) bool {
	l.clock(now)
	if first := l.open[a.key]; first != nil {
		if first.released {
			at.finish()
		} else {
			first.places = append(first.places, at)
		}
		return false
	}
	if settled, known := l.recent.when(a.key, now); known && (now.Sub(settled) < recentFor || a.written < settled.Add(recentFor).UnixMilli()) {
		at.finish()
		return false
	}
	if l.cancelled.has(a.key, now) {
		a.cause = ErrCancelled
	}
	a.place[0] = at
	a.places = a.place[:1]
	l.open[a.key] = a
	if len(l.open) == 1 {
		signal(l.awake)
	}
	return true
}

// begin gives the attempt to a slot. It returns false when no slot shall run it:
// every partition it came from has moved before it began.
func (l *tracker) begin(base context.Context, a *Attempt, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock(now)
	if a.moved() {
		l.remove(a)
		return false
	}
	a.started = now
	a.life.begin(base, a.deadline(now))
	if a.cause != nil {
		a.life.stop(a.cause)
	}
	return true
}

func (a *Attempt) moved() bool {
	for _, at := range a.places {
		if !at.partition.gone {
			return false
		}
	}
	return true
}

// release notes that an outcome or notification of a is acknowledged: nothing
// of a needs redelivery.
func (l *tracker) release(a *Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.release()
}

func (a *Attempt) release() {
	if a.released {
		return
	}
	a.released = true
	for _, at := range a.places {
		at.finish()
	}
}

// settle releases a and forgets it but for its token.
func (l *tracker) settle(a *Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.release()
	l.remove(a)
	l.recent.add(a.key, l.now)
}

// clock tells the time; the caller holds mu.
func (l *tracker) clock(now time.Time) {
	if now.After(l.now) {
		l.now = now
	}
}

func (l *tracker) remove(a *Attempt) {
	delete(l.open, a.key)
	if len(l.open) == l.limit-1 {
		signal(l.room)
	}
}

// waitRoom waits until the tracker may take more; false when ctx ends first.
func (l *tracker) waitRoom(ctx context.Context) bool {
	for l.full() {
		select {
		case <-ctx.Done():
			return false
		case <-l.room:
		}
		if !l.full() {
			signal(l.room) // for the other consumers that wait
			return true
		}
	}
	return true
}

func (l *tracker) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) >= l.limit || l.reporting.Load() >= maxReporting
}

// report counts the bytes of a report that is on its way.
func (l *tracker) report(bytes int) { l.reporting.Add(int64(bytes)) }

// reported takes them back: it is acknowledged, or given up.
func (l *tracker) reported(bytes int) {
	if left := l.reporting.Add(-int64(bytes)); left < maxReporting && left+int64(bytes) >= maxReporting {
		signal(l.room)
	}
}

// cancel stops the attempt of a token, or notes that it is not to begin. It reports whether it had begun here.
func (l *tracker) cancel(k key, cause error, now time.Time) (begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.open[k]
	if a == nil {
		l.cancelled.add(k, now)
		return false
	}
	a.stop(cause)
	return !a.started.IsZero()
}

// cancelAll stops everything that is still running.
func (l *tracker) cancelAll(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.open {
		a.stop(cause)
	}
}

func (a *Attempt) stop(cause error) {
	if a.cause != nil {
		return
	}
	a.cause = cause
	if !a.started.IsZero() {
		a.life.stop(cause)
	}
}

// running are the attempts that have begun and are not settled by now.
func (l *tracker) running(now time.Time) []*Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock(now)
	if len(l.open) == 0 {
		return nil
	}
	out := make([]*Attempt, 0, len(l.open))
	for _, a := range l.open {
		if !a.started.IsZero() {
			out = append(out, a)
		}
	}
	return out
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// idle reports whether nothing is open.
func (l *tracker) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) == 0
}

// handBack notes that no slot will begin the attempt.
func (l *tracker) handBack(a *Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.handed = true
}

// unreleasedOf are the attempts of a consumer's partitions that have begun, or
// were handed back, and are not released.
func (l *tracker) unreleasedOf(c *consumer, numbers []int32) []*Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	moving := map[*partition]bool{}
	for _, n := range numbers {
		moving[c.partitions[n]] = true
	}
	var out []*Attempt
	for _, a := range l.open {
		if (a.handed || !a.started.IsZero()) && !a.released && moving[a.places[0].partition] {
			out = append(out, a)
		}
	}
	return out
}

// released reports whether all of the attempts are.
func (l *tracker) released(attempts []*Attempt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range attempts {
		if !a.trackerState.released {
			return false
		}
	}
	return true
}
