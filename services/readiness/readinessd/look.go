package readinessd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/services/readiness"
)

// watchCluster looks at the cluster: how far the group's committed offsets, which are the durable cursors, are behind the
// logs, what comes to the dead letter topic, and which partitions of topics lack a leader or replicas.
func (s *Service) watchCluster(ctx context.Context, ready func()) error {
	ready()
	trend := readiness.Trend{DeadLetters: s.set.DLQ()}
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		look, err := s.look(ctx)
		switch {
		case err == nil:
			trend.Add(look)
			s.table.setCluster(trend.Warnings())
		case ctx.Err() == nil:
			s.logger.Warn("looking at the cluster", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Service) look(ctx context.Context) (readiness.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshEvery)
	defer cancel()
	adm := kadm.NewClient(s.admin)
	committed, err := adm.FetchOffsets(ctx, s.set.PlannerGroup())
	if err != nil {
		return readiness.Look{}, fmt.Errorf("ask what %s has committed: %w", s.set.PlannerGroup(), err)
	}
	ends, err := adm.ListEndOffsets(ctx, s.set.Commands(), s.set.Inbox(), s.set.Journal(), s.set.DLQ())
	if err != nil {
		return readiness.Look{}, fmt.Errorf("ask for the ends of the logs: %w", err)
	}
	l := readiness.Look{At: time.Now(), Lag: map[string]int64{s.set.Commands(): 0, s.set.Inbox(): 0}}
	known := true // of each partition of the dead letter topic
	ends.Each(func(end kadm.ListedOffset) {
		switch {
		case end.Topic != s.set.DLQ():
			s.measure(&l, committed, end)
		case end.Err != nil:
			known = false
		default:
			l.Dead += end.Offset
		}
	})
	if !known {
		l.Dead = -1
	}
	names := make([]string, 0, len(s.set.Desired()))
	for _, t := range s.set.Desired() {
		names = append(names, t.Name)
	}
	all, err := adm.Metadata(ctx, names...)
	if err != nil {
		return readiness.Look{}, fmt.Errorf("ask for the partitions of the topics: %w", err)
	}
	l.Down = down(all.Topics)
	return l, nil
}

// measure measures how far planners are behind a partition of a log. One without a leader the metadata tells.
func (s *Service) measure(l *readiness.Look, committed kadm.OffsetResponses, end kadm.ListedOffset) {
	at, ok := committed.Lookup(end.Topic, end.Partition)
	if end.Err != nil || !ok || at.At < 0 {
		return
	}
	lag := max(0, end.Offset-at.At)
	if _, input := l.Lag[end.Topic]; input {
		l.Lag[end.Topic] += lag
	}
	s.metrics.lag.WithLabelValues(end.Topic, strconv.Itoa(int(end.Partition))).Set(float64(lag))
}

// down names the partitions of topics that lack a leader or replicas.
func down(all kadm.TopicDetails) []string {
	var list []string
	for _, t := range all.Sorted() {
		parts := t.Partitions.Sorted()
		slices.SortFunc(parts, func(x, y kadm.PartitionDetail) int { return cmp.Compare(x.Partition, y.Partition) })
		for _, p := range parts {
			switch {
			case p.Leader < 0:
				list = append(list, fmt.Sprintf("partition %d of %s has no leader: nothing is read from it or written to it", p.Partition, t.Topic))
			case len(p.ISR) < len(p.Replicas):
				list = append(list, fmt.Sprintf("partition %d of %s has %d of %d replicas in sync", p.Partition, t.Topic, len(p.ISR), len(p.Replicas)))
			}
		}
	}
	return list
}
