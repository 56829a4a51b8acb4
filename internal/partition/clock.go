package partition

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// clockWatch finds out whether the clock of this process is ahead of the
// broker's (J2). That it is behind is seen from the stamps of commands; an old
// stamp by itself says nothing, since a record may have waited for long. So now
// and then a process with partitions sends a record of its own to the inbox,
// which the broker stamps: after it was sent, by whatever clock.
type clockWatch struct {
	host     *Host
	one      chan struct{}              // one comparison at a time serves all owners
	looked   atomic.Pointer[time.Time]  // when they were compared last, or that failed
	compared atomic.Pointer[reading]    // when they were compared last; nil: never
	wrong    atomic.Pointer[ClockError] // nil: they agree, as far as is known
}

// reading is a moment by two clocks.
type reading struct {
	clock time.Time // the one that is compared, of the day
	at    time.Time // monotonic
}

func newClockWatch(h *Host) *clockWatch { return &clockWatch{host: h, one: make(chan struct{}, 1)} }

// probeKey is the key of the records that are sent for their stamp: heartbeats
// of nobody, which every owner drops.
const probeKey = "_clock"

// agrees says what a comparison has found that is not older than a lease, nor
// than a jump of the clock.
func (w *clockWatch) agrees(ctx context.Context) error {
	w.refresh(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if wrong := w.wrong.Load(); wrong != nil {
		return wrong
	}
	if w.unknown() {
		return errNotCompared
	}
	return nil
}

// unknown says whether nothing is known of the clock: it was never compared, or
// has gone on unlike monotonic time since, by more than a part of the margin.
func (w *clockWatch) unknown() bool {
	s := &w.host.Settings
	if s.BrokerIsOurs || w.host.Flaws.NoClock {
		return false
	}
	last := w.compared.Load()
	if last == nil {
		return true
	}
	jump := w.host.Clock.Now().Round(0).Sub(last.clock) - time.Since(last.at)
	return jump.Abs() > s.Margin/2
}

// stale says whether the clocks should be compared: once per lease, more often
// while they differ, and when this one has jumped. A broker of this process has
// this clock.
func (w *clockWatch) stale() bool {
	s := &w.host.Settings
	every := s.Lease
	if w.wrong.Load() != nil {
		every = s.Margin
	}
	last := w.looked.Load()
	return !s.BrokerIsOurs && !w.host.Flaws.NoClock && (last == nil || time.Since(*last) >= every || w.unknown())
}

// refresh compares the clocks if that is due. What cannot be compared is as it
// was, but where nothing was known.
func (w *clockWatch) refresh(ctx context.Context) {
	select {
	case w.one <- struct{}{}:
		defer func() { <-w.one }()
	case <-ctx.Done():
		return
	}
	if !w.stale() {
		return
	}
	ask, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	if err := w.compare(ask); err != nil && ctx.Err() == nil {
		w.host.logger.Warn("comparing the clock with the broker's", "error", err)
	}
	now := time.Now()
	w.looked.Store(&now)
}

// compare looks whether the broker has stamped a record from before the time
// when it was sent.
func (w *clockWatch) compare(ctx context.Context) error {
	h := w.host
	margin := h.Settings.Margin.Milliseconds()
	now := reading{h.Clock.Now().Round(0), time.Now()}
	sent := now.clock.UnixMilli()
	probe, err := w.send(ctx)
	if err != nil {
		return fmt.Errorf("sending a record for its stamp: %w", err)
	}
	after, err := h.adm.ListOffsetsAfterMilli(ctx, sent-margin, probe.Topic)
	if err != nil {
		return fmt.Errorf("asking for the stamp of a record: %w", err)
	}
	// The first record stamped in time is the probe, an earlier one, or, if the
	// probe is not, a later one or the end.
	at, ok := after.Lookup(probe.Topic, probe.Partition)
	switch {
	case !ok || probe.Offset < 0:
		return errors.New("it is not known where the record with the stamp is")
	case at.Err != nil:
		return fmt.Errorf("asking for the stamp of a record: %w", at.Err)
	case at.Offset > probe.Offset:
		w.wrong.Store(&ClockError{Ahead: -margin})
	default:
		w.wrong.Store(nil)
	}
	w.compared.Store(&now)
	return nil
}

// send produces the probe. It does not outlast ctx, whatever the broker does.
func (w *clockWatch) send(ctx context.Context) (*kgo.Record, error) {
	rec := kafka.Keyed(w.host.names.Inbox(), []byte(probeKey), events.EncodeInbox(&events.TaskHeartbeat{}))
	done := make(chan error, 1)
	w.host.effects.Produce(ctx, rec, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
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
