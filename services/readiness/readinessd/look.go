package readinessd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/kafka"
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
		if !look.At.IsZero() {
			trend.Add(look)
			s.table.setCluster(trend.Warnings())
		}
		if err != nil && ctx.Err() == nil {
			s.logger.Warn("looking at the cluster", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look tells what the cluster has; with an error, as much of it as is known. What brokers that are gone cannot tell hides
// nothing of the others, and not that they are gone.
func (s *Service) look(ctx context.Context) (readiness.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshEvery)
	defer cancel()
	adm := kadm.NewClient(s.admin)
	names := make([]string, 0, len(s.set.Desired()))
	for _, t := range s.set.Desired() {
		names = append(names, t.Name)
	}
	all, err := adm.Metadata(ctx, names...)
	if err != nil {
		return readiness.Look{}, fmt.Errorf("ask for the partitions of the topics: %w", err)
	}
	l := readiness.Look{At: time.Now(), Dead: -1, Down: down(all.Topics)}
	if dlq := s.set.DLQ(); led(all.Topics[dlq]) {
		ends, err := endsOf(ctx, adm, dlq)
		if err != nil {
			return l, err
		}
		l.Dead = 0
		ends.Each(func(end kadm.ListedOffset) { l.Dead += end.Offset })
	}
	return l, s.measureAll(ctx, adm, &l, all.Topics)
}

// led reports whether all partitions of a topic have a leader: one that has none is waited for.
func led(t kadm.TopicDetail) bool {
	for _, p := range t.Partitions {
		if p.Leader < 0 {
			return false
		}
	}
	return true
}

func endsOf(ctx context.Context, adm *kadm.Client, topics ...string) (kadm.ListedOffsets, error) {
	ends, err := adm.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the ends of the logs: %w", err)
	}
	return ends, nil
}

// measureAll measures how far planners are behind the logs, unless one of them lacks a leader.
func (s *Service) measureAll(ctx context.Context, adm *kadm.Client, l *readiness.Look, all kadm.TopicDetails) error {
	logs := []string{s.set.Commands(), s.set.Inbox(), s.set.Journal()}
	if slices.ContainsFunc(logs, func(topic string) bool { return !led(all[topic]) }) {
		return nil
	}
	committed, err := adm.FetchOffsets(ctx, s.set.PlannerGroup())
	if err != nil {
		return fmt.Errorf("ask what %s has committed: %w", s.set.PlannerGroup(), err)
	}
	ends, err := endsOf(ctx, adm, logs...)
	if err != nil {
		return err
	}
	l.Lag = map[string]int64{s.set.Commands(): 0, s.set.Inbox(): 0}
	ends.Each(func(end kadm.ListedOffset) { s.measure(l, committed, end) })
	archived, err := s.archived(ctx, adm)
	if err != nil {
		return err
	}
	ends.Each(func(end kadm.ListedOffset) { s.measureArchive(l, archived, end) })
	return nil
}

// archived is what archivers have committed; empty where there is none, or where it must not be known.
func (s *Service) archived(ctx context.Context, adm *kadm.Client) (kadm.OffsetResponses, error) {
	all, err := adm.FetchOffsets(ctx, s.set.ArchiverGroup())
	if errors.Is(err, kerr.GroupIDNotFound) || kafka.IsUnauthorized(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask what %s has committed: %w", s.set.ArchiverGroup(), err)
	}
	return all, nil
}

// measureArchive measures how far archivers are behind a partition of the journal.
func (s *Service) measureArchive(l *readiness.Look, archived kadm.OffsetResponses, end kadm.ListedOffset) {
	at, ok := archived.Lookup(end.Topic, end.Partition)
	if !ok || at.Err != nil || at.At < 0 {
		return
	}
	lag := max(0, end.Offset-at.At)
	l.Lag[readiness.Archive] += lag
	s.metrics.archive.WithLabelValues(strconv.Itoa(int(end.Partition))).Set(float64(lag))
}

// measure measures how far planners are behind a partition of a log.
func (s *Service) measure(l *readiness.Look, committed kadm.OffsetResponses, end kadm.ListedOffset) {
	at, ok := committed.Lookup(end.Topic, end.Partition)
	if !ok || at.At < 0 {
		return
	}
	lag := max(0, end.Offset-at.At)
	if _, input := l.Lag[end.Topic]; input {
		l.Lag[end.Topic] += lag
	}
	s.metrics.lag.WithLabelValues(end.Topic, strconv.Itoa(int(end.Partition))).Set(float64(lag))
}

// down names the partitions of topics that lack a leader, and then those that lack replicas.
func down(all kadm.TopicDetails) []string {
	var without, list []string
	for _, t := range all.Sorted() {
		parts := t.Partitions.Sorted()
		slices.SortFunc(parts, func(x, y kadm.PartitionDetail) int { return cmp.Compare(x.Partition, y.Partition) })
		for _, p := range parts {
			switch {
			case p.Leader < 0:
				without = append(without, fmt.Sprintf("partition %d of %s has no leader: nothing is read from it or written to it", p.Partition, t.Topic))
			case len(p.ISR) < len(p.Replicas):
				list = append(list, fmt.Sprintf("partition %d of %s has %d of %d replicas in sync", p.Partition, t.Topic, len(p.ISR), len(p.Replicas)))
			}
		}
	}
	return append(without, list...)
}
