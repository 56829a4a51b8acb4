package partition

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

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

// ProbeKey begins the keys of the records that are sent to the inbox for their
// stamp: heartbeats of nobody, which every owner drops.
const ProbeKey = "_clock"

// probeKey is a key of a partition of the inbox.
func (w *clockWatch) probeKey() []byte {
	for i := 0; ; i++ {
		key := []byte(ProbeKey + strconv.Itoa(i))
		if n := w.host.Partitions; kafka.PartitionFor(key, n) == w.at%n {
			return key
		}
	}
}
