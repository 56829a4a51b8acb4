package partition

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// clockWatch finds out whether the clock of this process differs from the broker's
// by more than is allowed (J2). An old stamp by itself says nothing, since a record
// may have waited for long. So a process with partitions now and then sends a
// record of its own to the inbox, and reads when the broker has stamped it: between
// its sending and its acknowledgement, by whatever clock. Between two comparisons
// stamps of inputs that are ahead tell of a clock that is behind.
type clockWatch struct {
	host   *Host
	one    chan struct{}              // one comparison at a time serves all owners, and has read
	read   *reader                    // of the probes; nil until there was one
	next   int32                      // partition of the inbox to send a probe to, counted on
	looked atomic.Pointer[time.Time]  // when that was tried last
	known  atomic.Pointer[reading]    // when they were compared last; nil: never
	wrong  atomic.Pointer[ClockError] // nil: they agreed then

	suspect atomic.Int64 // ms that some stamp was ahead, as long as nobody has compared since
	excused atomic.Int64 // ms that stamps may be ahead: a comparison has found our clock right
}

// reading is a moment by two clocks.
type reading struct {
	day time.Time // by the one that is compared
	at  time.Time // monotonic
}

func newClockWatch(h *Host) *clockWatch { return &clockWatch{host: h, one: make(chan struct{}, 1)} }

// probeKey is the key of the records that are sent for their stamp: heartbeats
// of nobody, which every owner drops. It belongs to a partition of the inbox.
func (w *clockWatch) probeKey() []byte {
	for i := 0; ; i++ {
		key := []byte("_clock" + strconv.Itoa(i))
		if n := w.host.Partitions; kafka.PartitionFor(key, n) == w.next%n {
			return key
		}
	}
}

// agrees compares the clocks now: what was so before a lease was waited out says
// nothing about the clock by which it has run out. If that cannot be done, the last
// comparison holds, unless the clock has jumped since. A broker of this process has
// this clock.
func (w *clockWatch) agrees(ctx context.Context) error {
	if w.host.Settings.BrokerIsOurs || w.host.Flaws.NoClock {
		return nil
	}
	asked := time.Now()
	w.refresh(ctx, func() bool { return w.comparedSince(asked) })
	if err := ctx.Err(); err != nil {
		return err
	}
	if wrong := w.wrong.Load(); wrong != nil {
		return wrong
	}
	if w.jumped() {
		return errNotCompared
	}
	return nil
}

// jumped says whether nothing is known of the clock: it was never compared, or has
// gone on unlike monotonic time since, by more than is allowed.
func (w *clockWatch) jumped() bool {
	last := w.known.Load()
	if last == nil {
		return true
	}
	jump := w.host.Clock.Now().Round(0).Sub(last.day) - time.Since(last.at)
	return jump.Abs().Milliseconds() > w.host.Settings.clockError()
}

func (w *clockWatch) comparedSince(t time.Time) bool {
	last := w.looked.Load()
	return last != nil && !last.Before(t)
}

// fresh says that the clocks need not be compared: that is done once per lease, more
// often while they differ, and when this one has jumped.
func (w *clockWatch) fresh() bool {
	s := &w.host.Settings
	every := s.Lease
	if w.wrong.Load() != nil {
		every = s.Margin
	}
	return s.BrokerIsOurs || w.host.Flaws.NoClock || w.comparedSince(time.Now().Add(-every)) && !w.jumped()
}

// refresh compares the clocks unless somebody has done so meanwhile. What cannot be
// compared is as it was.
func (w *clockWatch) refresh(ctx context.Context, done func() bool) {
	select {
	case w.one <- struct{}{}:
		defer func() { <-w.one }()
	case <-ctx.Done():
		return
	}
	if done() {
		return
	}
	began := time.Now()
	ask, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	if err := w.compare(ask); err != nil && ctx.Err() == nil {
		w.host.logger.Warn("comparing the clock with the broker's", "error", err)
		w.next++ // one partition that takes no records is no reason not to know
	}
	w.looked.Store(&began)
}

// compare holds the stamp of a record against the times when it was sent and when
// that was acknowledged.
func (w *clockWatch) compare(ctx context.Context) error {
	h := w.host
	suspect := w.suspect.Load()
	sent := h.Clock.Now()
	probe, err := w.send(ctx)
	if err != nil {
		return fmt.Errorf("sending a record for its stamp: %w", err)
	}
	acknowledged := h.Clock.Now()
	now := reading{acknowledged.Round(0), time.Now()}
	stamp, err := w.stampOf(ctx, probe)
	if err != nil {
		return fmt.Errorf("reading the stamp of a record: %w", err)
	}
	w.known.Store(&now)
	off := max(0, stamp-acknowledged.UnixMilli()) + min(0, stamp-sent.UnixMilli())
	if most := h.Settings.clockError(); off > most || off < -most {
		w.wrong.Store(&ClockError{Ahead: off})
		w.suspect.Store(0)
		w.excused.Store(0)
		return nil
	}
	w.wrong.Store(nil)
	if w.suspect.CompareAndSwap(suspect, 0) && suspect > 0 {
		w.excused.Store(suspect + h.Settings.Margin.Milliseconds())
	}
	return nil
}

// stampOf reads a probe back: the client does not tell how it was stamped.
func (w *clockWatch) stampOf(ctx context.Context, probe *kgo.Record) (int64, error) {
	if w.read == nil {
		var err error
		if w.read, err = newReader(w.host.Cluster, w.host.adm); err != nil {
			return 0, err
		}
	}
	k, err := w.read.one(ctx, probe.Topic, probe.Partition, probe.Offset)
	switch {
	case err != nil:
		return 0, err
	case k == nil:
		return 0, errors.New("it is gone")
	}
	return k.Timestamp.UnixMilli(), nil
}

// close ends the reading of probes; nobody compares any more.
func (w *clockWatch) close() {
	if w.read != nil {
		w.read.close()
	}
}

// suspected is told of a stamp that was ahead of this clock by so many ms. Either
// the clock is behind, as the next comparison finds out, or that broker's was ahead.
func (w *clockWatch) suspected(ahead int64) { w.suspect.Store(max(ahead, w.suspect.Load())) }

// send produces the probe. It does not outlast ctx, whatever the broker does.
func (w *clockWatch) send(ctx context.Context) (*kgo.Record, error) {
	rec := kafka.Keyed(w.host.names.Inbox(), w.probeKey(), events.EncodeInbox(&events.TaskHeartbeat{}))
	done := make(chan error, 1)
	w.host.effects.Produce(ctx, rec, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
		if err == nil && rec.Offset < 0 { // it was sent twice
			err = errors.New("it is not known where it is")
		}
		return rec, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wrongClock ends the reign: with such a clock nothing is decided (J2).
func (p *Processor) wrongClock(e *ClockError) {
	p.clock.wrong = true
	p.fail(e)
}

type systemClock struct{}

// Now implements Clock.
func (systemClock) Now() time.Time { return time.Now() }
