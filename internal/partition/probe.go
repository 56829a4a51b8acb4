package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	// clockBrokers is how many brokers are asked at most: two of five may be wrong.
	clockBrokers = 5

	// clockPatience bounds the wait for the rest once most have answered, and for
	// each stamp.
	clockPatience = time.Second
)

// clockProbe is a record that is sent to a broker for its stamp.
type clockProbe struct {
	broker   int32
	rec      *kgo.Record
	sent     time.Time // by the clock that is compared
	answered reading
	err      error
	off      int64 // ms that the broker's clock is ahead; 0: it may be the same
}

// leaders are probes for some of the brokers that lead partitions of the inbox, one
// for each.
func (w *clockWatch) leaders(ctx context.Context) ([]*clockProbe, error) {
	topic := w.host.names.Inbox()
	meta, err := w.host.adm.Metadata(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("asking which brokers lead %s: %w", topic, err)
	}
	led := map[int32][]int32{}
	for _, p := range meta.Topics[topic].Partitions.Sorted() {
		if p.Leader >= 0 {
			led[p.Leader] = append(led[p.Leader], p.Partition)
		}
	}
	var all []*clockProbe
	for broker, partitions := range led { // order: sorted below
		at := partitions[int(w.at)%len(partitions)]
		rec := kafka.Keyed(topic, w.probeKey(at), events.EncodeInbox(&events.TaskHeartbeat{}), kafka.InboxFormat...)
		all = append(all, &clockProbe{broker: broker, rec: rec})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no partition of %s has a leader", topic)
	}
	slices.SortFunc(all, func(a, b *clockProbe) int { return cmp.Compare(a.broker, b.broker) })
	if w.host.Flaws.OneClock.On() {
		return all[:1], nil
	}
	return all[:min(len(all), clockBrokers)], nil
}

// probe sends the records and reads how they were stamped. What cannot be found out
// in time is left out; the error says why of one of those.
func (w *clockWatch) probe(ctx context.Context, asked []*clockProbe) (known []*clockProbe, bad error) {
	for _, p := range w.send(ctx, asked) {
		if p.err == nil {
			var stamp int64
			if stamp, p.err = w.stampOf(ctx, p.rec); p.err == nil {
				p.off = max(0, stamp-p.answered.day.UnixMilli()) + min(0, stamp-p.sent.UnixMilli())
				known = append(known, p)
				continue
			}
		}
		bad = fmt.Errorf("broker %d: %w", p.broker, p.err)
	}
	if bad == nil {
		bad = context.DeadlineExceeded
	}
	return known, bad
}

// send produces the probes, and returns those that were answered: all, or most and
// what came a moment later. It does not outlast ctx, whatever the brokers do.
func (w *clockWatch) send(ctx context.Context, asked []*clockProbe) []*clockProbe {
	done := make(chan *clockProbe, len(asked))
	for _, p := range asked {
		p.sent = w.host.Clock.Now()
		w.host.effects.Produce(ctx, p.rec, func(r *kgo.Record, err error) {
			p.err = defect.Caught(w.host.logger, w.host.Stats, func() error {
				if err == nil && r.Offset < 0 { // it was sent twice
					err = errors.New("it is not known where its record is")
				}
				p.answered = reading{w.host.Clock.Now().Round(0), time.Now()}
				return err
			})
			done <- p
		})
	}
	var answered []*clockProbe
	var enough <-chan time.Time
	for len(answered) < len(asked) {
		select {
		case p := <-done:
			answered = append(answered, p)
			if enough == nil && len(answered) > len(asked)/2 {
				enough = time.After(clockPatience)
			}
		case <-enough:
			return answered
		case <-ctx.Done():
			return answered
		}
	}
	return answered
}

// stampOf reads a probe back: the client does not tell how it was stamped.
func (w *clockWatch) stampOf(ctx context.Context, rec *kgo.Record) (int64, error) {
	ctx, stop := context.WithTimeout(ctx, clockPatience)
	defer stop()
	if w.read == nil {
		var err error
		if w.read, err = newReader(w.host.Cluster, w.host.adm); err != nil {
			return 0, err
		}
	}
	k, err := w.read.one(ctx, rec.Topic, rec.Partition, rec.Offset)
	switch {
	case err != nil: // the next one may have to be of another inbox
		w.read.close()
		w.read = nil
		return 0, err
	case k == nil:
		return 0, errors.New("its record is gone")
	}
	return k.Timestamp.UnixMilli(), nil
}

// ProbeKey begins the keys of the records that are sent to the inbox for their
// stamp: heartbeats of nobody, which every owner drops.
const ProbeKey = "_clock"

// probeKey is a key of a partition of the inbox.
func (w *clockWatch) probeKey(partition int32) []byte {
	for i := 0; ; i++ {
		key := []byte(ProbeKey + strconv.Itoa(i))
		if kafka.PartitionFor(key, w.host.Partitions) == partition {
			return key
		}
	}
}
