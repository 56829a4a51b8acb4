package equivalence

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// clock is a machine's: the planners that run on it one after the other read it.
// Its monotonic reading jumps with it, as loop.Clock cannot tell them apart:
// a jump back is worse here than it is in the world.
type clock struct{ off atomic.Int64 } // from the broker's, nanoseconds

// Now implements loop.Clock.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// drift says how far clocks are off.
type drift int

const (
	exact drift = iota
	near        // as far as is allowed
	far         // also beyond that: nothing may be decided (J2)
)

// jump is a clock that is set off.
type jump struct {
	after time.Duration // the one before, or the start
	off   time.Duration // from the broker's clock, from then on
	right time.Duration // set right again after so long; 0: not before the next one
}

// jumps draws what happens to a clock. A jump within what is allowed lasts until the
// next one or is set right. One beyond it is always set right: while it lasts the
// machine owns nothing, and as the group hears from it, nobody else does.
func (how drift) jumps(d workload.Dice, lease time.Duration) []jump {
	most := int(allowed(lease) / time.Millisecond)
	var all []jump
	for range d.Between(2, 6) {
		j := jump{after: d.Millis(0, 3000)}
		if how == near || d.One(2) {
			j.off = d.Millis(-most, most)
			j.right = workload.Pick(d, 0, d.Millis(0, 8000))
		} else {
			j.off = workload.Pick(d, time.Duration(-1), 1) * d.Millis(most+1, 10*most)
			j.right = d.Millis(500, 15_000)
		}
		all = append(all, j)
	}
	return all
}

// allowed is how far a clock may be off the broker's.
func allowed(lease time.Duration) time.Duration {
	return loop.Settings{Lease: lease}.Complete().Margin / 2
}

// skew lets the clocks of all machines jump. The returned function sets them right.
func (w *world) skew(seed uint64) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for slot, c := range w.clocks {
		all := w.faults.clocks.jumps(workload.NewDice(seed^uint64(slot+1)<<32), w.plan.Settings.Lease)
		running.Go(func() {
			defer c.off.Store(0)
			for _, j := range all {
				if workload.Pause(ctx, j.after) != nil || w.leap(ctx, slot, j) != nil {
					return
				}
			}
		})
	}
	return func() { stop(); running.Wait() }
}

// leap sets a clock off, and perhaps right again.
func (w *world) leap(ctx context.Context, slot int, j jump) error {
	w.clocks[slot].off.Store(int64(j.off))
	w.happened(nameOf(j.off, allowed(w.plan.Settings.Lease)), "slot", slot, "off", j.off, "right", j.right)
	if j.right == 0 {
		return nil
	}
	err := workload.Pause(ctx, j.right)
	w.clocks[slot].off.Store(0)
	w.happened("a clock that is set right", "slot", slot)
	return err
}

func nameOf(off, most time.Duration) string {
	switch {
	case off > most:
		return "a clock ahead beyond what is allowed"
	case off < -most:
		return "a clock behind beyond what is allowed"
	case off > 0:
		return "a clock ahead within what is allowed"
	}
	return "a clock behind within what is allowed"
}

// stopper sees owners that stop because of their clock (J2), in what planners
// say to their operators.
type stopper struct {
	slog.Handler
	w *world
}

// Enabled implements slog.Handler.
func (s stopper) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (s stopper) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		if wrong, ok := errors.AsType[*loop.ClockError](err); ok {
			what := "an owner that stops as its clock is behind"
			if wrong.Ahead < 0 {
				what = "an owner that stops as its clock is ahead"
			}
			s.w.happened(what)
		}
		return true
	})
	if !s.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (s stopper) WithAttrs(attrs []slog.Attr) slog.Handler {
	return stopper{s.Handler.WithAttrs(attrs), s.w}
}

// WithGroup implements slog.Handler.
func (s stopper) WithGroup(name string) slog.Handler { return stopper{s.Handler.WithGroup(name), s.w} }
