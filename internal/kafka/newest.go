package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// newestBack is how many offsets before the end of a log its newest record is
	// looked for. One that is written in a transaction takes two.
	newestBack = 16

	// newestWithin is how long that may take. A partition whose leader is away is no
	// reason to wait for.
	newestWithin = 2 * time.Second
)

// NewNewestTail is NewTail for topics of whose keys the newest records count: from the
// start of whole, and of newest, whose partitions have one key each, from a few records
// before its end. A partition that has no record there, or that does not say so in time, is
// read from its start.
func NewNewestTail(ctx context.Context, c Config, newest string, whole ...string) (*kgo.Client, error) {
	ctx, stop := context.WithTimeout(ctx, newestWithin)
	defer stop()
	from, err := c.nearEnds(ctx, newest)
	if err != nil {
		return nil, err
	}
	return c.tail(kgo.NewOffset().AtStart(), whole, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{newest: from}))
}

// nearEnds are the places from which the newest record of each partition of a topic is
// soon reached.
func (c Config) nearEnds(ctx context.Context, topic string) (map[int32]kgo.Offset, error) {
	cl, err := NewAdmin(c)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, topic)
	if len(starts[topic]) == 0 {
		return nil, fmt.Errorf("ask for the ends of %s: %w", topic, err)
	}
	ends, _ := adm.ListCommittedOffsets(ctx, topic) // a partition that does not tell its end is read from its start
	from, look := map[int32]kgo.Offset{}, map[int32]Span{}
	for p, start := range starts[topic] {
		from[p] = kgo.NewOffset().AtStart()
		end, known := ends.Lookup(topic, p)
		if known && end.Err == nil && start.Err == nil && end.Offset-newestBack > start.Offset {
			look[p] = Span{end.Offset - newestBack, end.Offset}
		}
	}
	return from, c.lookFor(ctx, topic, look, from)
}

// lookFor moves the places of partitions to the spans in which they have a record.
func (c Config) lookFor(ctx context.Context, topic string, look map[int32]Span, from map[int32]kgo.Offset) error {
	return c.FirstRecords(ctx, map[string]map[int32]Span{topic: look}, func(r *kgo.Record) {
		from[r.Partition] = kgo.NewOffset().At(look[r.Partition].From)
	})
}

// Span are offsets of a log, without the last.
type Span struct{ From, To int64 }

// FirstRecords visits the first record in each span of some partitions' logs that has
// one. Those that cannot be read are left out.
func (c Config) FirstRecords(ctx context.Context, spans map[string]map[int32]Span, visit func(*kgo.Record)) error {
	look, at := map[string]map[int32]int64{}, map[string]map[int32]kgo.Offset{}
	waits := 0
	for topic, some := range spans {
		look[topic], at[topic] = map[int32]int64{}, map[int32]kgo.Offset{}
		for p, s := range some {
			look[topic][p], at[topic][p] = s.To, kgo.NewOffset().At(s.From)
			waits++
		}
	}
	if waits == 0 {
		return nil
	}
	cl, err := c.client("newest", append(consumeBase(), kgo.KeepControlRecords(), kgo.ConsumePartitions(at))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	done := func(topic string, p int32) {
		if _, looking := look[topic][p]; looking {
			delete(look[topic], p)
			waits--
		}
	}
	for waits > 0 && ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		fetches.EachError(func(topic string, p int32, _ error) { done(topic, p) })
		fetches.EachRecord(func(r *kgo.Record) {
			to, looking := look[r.Topic][r.Partition]
			if looking && r.Offset < to && !r.Attrs.IsControl() {
				visit(r)
			}
			if !r.Attrs.IsControl() || r.Offset >= to-1 {
				done(r.Topic, r.Partition)
			}
		})
	}
	return nil
}
