package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

const (
	// behindWait bounds the questions about what waits in the queues, and the
	// reading of the cancellations since then: a start is not held by more.
	behindWait = 15 * time.Second
	// clocksApart is more than the clocks of two planners may differ by.
	clocksApart = time.Minute
)

// listen follows task-control from the time on at which the oldest attempt that may
// be taken was published: its cancellation may be as old. Whatever partition comes
// later has nothing older that nobody has been told about since. It returns when all
// that was there is heard.
func (t *Worker) listen(ctx context.Context) error {
	ask, stop := context.WithTimeout(ctx, behindWait)
	defer stop()
	since, err := t.oldest(ask)
	if err != nil {
		t.log.Warn("how long attempts wait in their queues is not known; all cancellations are read", "error", err)
	}
	if slices.ContainsFunc(t.pools, func(p *pool) bool { return p.Cancelled != nil }) {
		since = time.Now().Add(-cancelledFor) // also what was cancelled while nobody was there
	}
	if t.tail, err = kafka.NewTailSince(t.config.Kafka, since.UnixMilli(), t.names.TaskControl()); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if err := t.catchUp(ask, since); err != nil && ctx.Err() == nil {
		t.log.Warn("not all cancellations are read; an attempt that is cancelled may run", "error", err)
	}
	return nil
}

// oldest is when the oldest attempt was published that no worker has done: the first
// behind the committed offset of each partition. With an error it is longer ago than
// task-control reaches back.
func (t *Worker) oldest(ctx context.Context) (time.Time, error) {
	since := time.Now()
	ever := since.Add(-cancelledFor)
	first := map[string]map[int32]kgo.Offset{}
	for _, c := range t.consumers {
		open, err := t.behind(ctx, c)
		if err != nil {
			return ever, err
		}
		if len(open) > 0 {
			first[c.topic] = open
		}
	}
	if len(first) == 0 {
		return since.Add(-clocksApart), nil
	}
	cl, err := kafka.NewPartitionConsumer(t.config.Kafka)
	if err != nil {
		return ever, err
	}
	defer cl.Close()
	cl.AddConsumePartitions(first)
	for len(first) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return ever, fmt.Errorf("reading the oldest tasks: %w", err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if len(f.Records) == 0 {
				return
			}
			if at := f.Records[0].Timestamp; at.Before(since) {
				since = at
			}
			delete(first[f.Topic], f.Partition)
			if len(first[f.Topic]) == 0 {
				delete(first, f.Topic)
			}
		})
	}
	if since = since.Add(-clocksApart); since.Before(ever) {
		since = ever
	}
	return since, nil
}

// behind is where the records of a queue begin that its workers have not done, by
// partition; partitions without any are left out, as is a queue without a topic.
func (t *Worker) behind(ctx context.Context, c *consumer) (map[int32]kgo.Offset, error) {
	adm := kadm.NewClient(t.producer)
	starts, err := adm.ListStartOffsets(ctx, c.topic)
	if err != nil {
		return nil, err
	}
	ends, err := adm.ListEndOffsets(ctx, c.topic)
	if err != nil {
		return nil, err
	}
	committed, err := kafka.Committed(ctx, t.producer, t.names.QueueGroup(c.queue), c.topic)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, err
	}
	open := map[int32]kgo.Offset{}
	for p := range ends[c.topic] {
		end, err := kafka.OffsetOf(ends, nil, c.topic, p)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			continue
		}
		start, worse := kafka.OffsetOf(starts, nil, c.topic, p)
		if err = errors.Join(err, worse); err != nil {
			return nil, err
		}
		if from := max(start, committed[p].Offset); from < end {
			open[p] = kgo.NewOffset().At(from)
		}
	}
	return open, nil
}

// catchUp reads the cancellations that are there, since a time.
func (t *Worker) catchUp(ctx context.Context, since time.Time) error {
	adm, topic := kadm.NewClient(t.producer), t.names.TaskControl()
	from, err := adm.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topic)
	if err != nil {
		return err
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	left := map[int32]int64{}
	for p, at := range from[topic] {
		if end, bad := kafka.OffsetOf(ends, nil, topic, p); bad == nil && at.Err == nil && at.Offset < end {
			left[p] = end
		}
	}
	for len(left) > 0 {
		fetches := t.tail.PollFetches(ctx)
		if err := ctx.Err(); err != nil && fetches.NumRecords() == 0 {
			return fmt.Errorf("reading %s: %w", topic, err)
		}
		t.heard(fetches)
		fetches.EachRecord(func(r *kgo.Record) {
			if end, open := left[r.Partition]; open && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
	return nil
}
