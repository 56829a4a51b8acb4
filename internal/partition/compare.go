package partition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/partition/loop"
)

// compare holds the stamps of records that several brokers have made against the
// times when they were sent and when that was acknowledged.
func (w *clockWatch) compare(ctx context.Context) error {
	suspect := w.suspect.Load()
	asked, err := w.leaders(ctx)
	if err != nil {
		return err
	}
	known, bad := w.probe(ctx, asked)
	if len(known) <= len(asked)/2 {
		return fmt.Errorf("%d of %d brokers have stamped a record in time: %w", len(known), len(asked), bad)
	}
	now := known[0].answered
	for _, p := range known {
		if p.answered.at.Before(now.at) {
			now = p.answered
		}
	}
	w.known.Store(&now)
	w.judge(known, suspect)
	return nil
}

// judge finds out by the brokers' clocks whether this one is wrong.
func (w *clockWatch) judge(known []*clockProbe, suspect int64) {
	off := median(known)
	w.outliers(known, off)
	most := w.host.Settings.ClockError()
	if off > most || off < -most {
		w.wrong.Store(&loop.ClockError{Ahead: off})
		w.suspect.Store(0)
		w.excused.Store(0)
		return
	}
	w.wrong.Store(nil)
	// Stamps may be so far ahead as one was, or as a broker's clock is.
	ahead := max(suspect, known[len(known)-1].off)
	if w.suspect.CompareAndSwap(suspect, 0) && ahead > most {
		w.excused.Store(ahead + w.host.Settings.Margin.Milliseconds())
	}
}

// median is how far (ms) the brokers are ahead, of an even number the one that is
// less so: all planners hold their clocks against the same broker's then.
func median(known []*clockProbe) int64 {
	slices.SortFunc(known, func(a, b *clockProbe) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.broker, b.broker)) })
	return known[(len(known)-1)/2].off
}

// outliers tells of the brokers whose clocks differ from the median by more than
// the clock of a planner may: it is said once, and once that it is over.
func (w *clockWatch) outliers(known []*clockProbe, median int64) {
	var notes []string
	for _, p := range known {
		off := p.off - median
		if most := w.host.Settings.ClockError(); off <= most && off >= -most {
			if w.said[p.broker] {
				delete(w.said, p.broker)
				w.host.logger.Info("a broker's clock is right again", "broker", p.broker)
			}
			continue
		}
		notes = append(notes, fmt.Sprintf("the clock of broker %d is %s those of the others", p.broker, apart(off)))
		if !w.said[p.broker] {
			w.said[p.broker] = true
			w.host.logger.Warn("a broker's clock is wrong", "broker", p.broker, "difference", apart(off))
		}
	}
	slices.Sort(notes)
	w.strange.Store(&notes)
}

// apart is a difference in ms for people.
func apart(ms int64) string {
	if ms < 0 {
		return fmt.Sprintf("%s behind", time.Duration(-ms)*time.Millisecond)
	}
	return fmt.Sprintf("%s ahead of", time.Duration(ms)*time.Millisecond)
}

// notes are what an operator should know of the brokers' clocks.
func (w *clockWatch) notes() []string {
	if n := w.strange.Load(); n != nil {
		return *n
	}
	return nil
}
