package partition

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// clockWatch finds out whether the clock of this process differs from the brokers'
// by more than is allowed (J2). An old stamp by itself says nothing, since a record
// may have waited for long. So a process with partitions now and then sends records
// of its own to the inbox, one to each of several brokers, and reads when they were
// stamped: between their sending and their acknowledgement, by whatever clock. The
// median of the brokers counts; one that differs from it is warned of, and stops
// nobody. Between two comparisons stamps of inputs that are ahead tell of a clock
// that is behind.
type clockWatch struct {
	host *Host
	wake chan struct{}  // somebody waits for the next comparison
	read *reader        // of the probes; nil until there was one
	at   int32          // which of a broker's partitions is sent a probe, counted on
	said map[int32]bool // brokers whose clocks are said to be wrong

	mu   sync.Mutex
	last *comparison // the last one that began; nil: none
	next *comparison // that somebody waits for, and that has not begun; nil: none

	known   atomic.Pointer[reading]         // when one was made last; nil: never
	wrong   atomic.Pointer[loop.ClockError] // what it found; nil: they agreed
	suspect atomic.Int64                    // ms that some stamp was ahead, as long as nobody has compared since
	strange atomic.Pointer[[]string]        // what is to be known of brokers' clocks
	excused atomic.Int64                    // ms that stamps may be ahead: a comparison has found our clock right
}

// comparison is one of the clocks, for all owners who asked before it began.
type comparison struct {
	began time.Time
	done  chan struct{} // closed when it is over, made or not
}

// reading is a moment by two clocks.
type reading struct {
	day time.Time // by the one that is compared
	at  time.Time // monotonic
}

func newClockWatch(h *Host) *clockWatch {
	return &clockWatch{host: h, wake: make(chan struct{}, 1), said: map[int32]bool{}}
}

// run compares whenever somebody asks for it, until ctx ends.
func (w *clockWatch) run(ctx context.Context) {
	defer func() {
		if w.read != nil {
			w.read.close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		c := w.begin()
		ask, stop := context.WithTimeout(ctx, askTimeout)
		if err := defect.Caught(w.host.logger, w.host.Stats, func() error { return w.compare(ask) }); err != nil && ctx.Err() == nil {
			w.host.logger.Warn("comparing the clock with the brokers'", "error", err)
		}
		w.at++ // one partition that takes no records is no reason not to know
		stop()
		close(c.done)
	}
}

func (w *clockWatch) begin() *comparison {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.next = w.next, nil
	w.last.began = time.Now()
	return w.last
}

// ask is the first comparison that begins now or later.
func (w *clockWatch) ask() *comparison {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != nil && !w.last.began.Before(now) {
		return w.last
	}
	if w.next == nil {
		w.next = &comparison{done: make(chan struct{})}
		w.wake <- struct{}{}
	}
	return w.next
}

// agrees compares the clocks now: what was so before a lease was waited out says
// nothing about the clock by which it has run out. If that cannot be done, the last
// comparison holds, unless the clock has jumped since. A broker of this process has
// this clock.
func (w *clockWatch) agrees(ctx context.Context) error {
	if w.idle() {
		return nil
	}
	select {
	case <-w.ask().done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if wrong := w.wrong.Load(); wrong != nil {
		return wrong
	}
	if w.jumped() {
		return errNotCompared
	}
	return nil
}

// idle says that nothing is compared.
func (w *clockWatch) idle() bool { return w.host.Settings.BrokerIsOurs || w.host.Flaws.NoClock.On() }

// jumped reports whether nothing is known of the clock: it was never compared, or has
// gone on unlike monotonic time since, by more than is allowed.
func (w *clockWatch) jumped() bool {
	last := w.known.Load()
	if last == nil {
		return true
	}
	jump := w.host.Clock.Now().Round(0).Sub(last.day) - time.Since(last.at)
	return jump.Abs().Milliseconds() > w.host.Settings.ClockError()
}

// refresh has the clocks compared if that is due: once per lease, more often while
// they differ, and when this one has jumped.
func (w *clockWatch) refresh() {
	every := w.host.Settings.Lease
	if w.wrong.Load() != nil {
		every = w.host.Settings.Margin
	}
	if !w.idle() && (!w.beganWithin(every) || w.jumped()) {
		w.ask()
	}
}

func (w *clockWatch) beganWithin(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last != nil && time.Since(w.last.began) < d
}

// suspected is told of a stamp that was ahead of this clock by so many ms. Either
// the clock is behind, as the next comparison finds out, or that broker's was ahead.
func (w *clockWatch) suspected(ahead int64) { w.suspect.Store(max(ahead, w.suspect.Load())) }

type systemClock struct{}

// Now implements Clock.
func (systemClock) Now() time.Time { return time.Now() }
