package readinessd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/services/readiness"
)

const (
	// unreadEvery is how often it is looked whether something may be deleted unread.
	unreadEvery = time.Minute

	// lookTimeout bounds such a look.
	lookTimeout = 20 * time.Second
)

// watchUnread warns where a cluster deletes records by time, before it deletes some that
// no planner has read.
func (s *Service) watchUnread(ctx context.Context, ready func()) error {
	ready()
	tick := time.NewTicker(unreadEvery)
	defer tick.Stop()
	for told := false; ; {
		found, err := s.findUnread(ctx, time.Now())
		switch {
		case err == nil:
			s.table.setUnread(found)
		case ctx.Err() == nil && !told:
			s.logger.Warn("whether the cluster is about to delete records that were not read is not known; it is asked again", "error", err)
		}
		told = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// setUnread takes what was found.
func (t *statusTable) setUnread(found map[int32][]readiness.Unread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unread = found
}

// findUnread finds the input logs, by partition, that have had an unread record for longer
// than half of their topic's retention.
func (s *Service) findUnread(ctx context.Context, now time.Time) (map[int32][]readiness.Unread, error) {
	ctx, stop := context.WithTimeout(ctx, lookTimeout)
	defer stop()
	adm := kadm.NewClient(s.admin)
	kept, err := retention(ctx, adm, s.set.Commands(), s.set.Inbox())
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	committed, err := adm.FetchOffsets(ctx, s.set.PlannerGroup())
	if err != nil {
		return nil, fmt.Errorf("ask what %s has committed: %w", s.set.PlannerGroup(), err)
	}
	spans := map[string]map[int32]kafka.Span{}
	for topic, keeps := range kept {
		if spans[topic], err = oldOnes(ctx, adm, committed, topic, now.Add(-keeps/2)); err != nil {
			return nil, err
		}
	}
	found := map[int32][]readiness.Unread{}
	err = s.cfg.Kafka.FirstRecords(ctx, spans, func(r *kgo.Record) {
		if now.Sub(r.Timestamp) > kept[r.Topic]/2 {
			found[r.Partition] = append(found[r.Partition], readiness.Unread{Topic: r.Topic, Since: r.Timestamp, Retention: kept[r.Topic]})
		}
	})
	return found, err // of a log that tells nothing in time nothing is known
}

// retention is how long a cluster keeps the records of topics, where that has an end.
func retention(ctx context.Context, adm *kadm.Client, names ...string) (map[string]time.Duration, error) {
	all, err := adm.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("ask for the retention of the input topics: %w", err)
	}
	kept := map[string]time.Duration{}
	for _, topic := range all {
		if topic.Err != nil {
			return nil, fmt.Errorf("ask for the retention of %s: %w", topic.Name, topic.Err)
		}
		for _, c := range topic.Configs {
			if c.Key != "retention.ms" {
				continue
			}
			ms, err := strconv.ParseInt(c.MaybeValue(), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("retention.ms of %s: %w", topic.Name, err)
			}
			if d := time.Duration(ms) * time.Millisecond; ms >= 0 && d/time.Millisecond == time.Duration(ms) { // longer than a Duration is without end
				kept[topic.Name] = d
			}
		}
	}
	return kept, nil
}

// oldOnes are the offsets of a topic that are not committed though the first of them were
// written before a time.
func oldOnes(ctx context.Context, adm *kadm.Client, committed kadm.OffsetResponses, topic string, before time.Time) (map[int32]kafka.Span, error) {
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("ask for the starts of %s: %w", topic, err)
	}
	young, err := adm.ListOffsetsAfterMilli(ctx, before.UnixMilli(), topic)
	if err != nil {
		return nil, fmt.Errorf("ask for the young records of %s: %w", topic, err)
	}
	old := map[int32]kafka.Span{}
	young.Each(func(y kadm.ListedOffset) {
		start, known := starts.Lookup(topic, y.Partition)
		if !known || start.Err != nil || y.Err != nil { // without a leader; asked again
			return
		}
		from := start.Offset
		if at, has := committed.Lookup(topic, y.Partition); has && at.Err == nil {
			from = max(from, at.At)
		}
		if from < y.Offset {
			old[y.Partition] = kafka.Span{From: from, To: y.Offset}
		}
	})
	return old, nil
}
