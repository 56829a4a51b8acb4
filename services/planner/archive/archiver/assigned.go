package archiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/store"
)

// Pauses between two tries to archive a partition.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
)

// assigned are the partitions that the group gives to this archiver. It is the client's kafka.Assignment.
type assigned struct {
	a    *Archiver
	ctx  context.Context // of the partitions
	stop context.CancelFunc

	mu      sync.Mutex
	running map[int32]*running
}

// running is a partition that is archived.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Assigned implements kafka.Assignment.
func (s *assigned) Assigned(_ context.Context, _ string, partitions []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range partitions {
		if s.running[p] != nil || s.ctx.Err() != nil {
			continue
		}
		ctx, cancel := context.WithCancel(s.ctx)
		r := &running{cancel, make(chan struct{})}
		s.running[p] = r
		go func() {
			defer close(r.done)
			s.a.keep(ctx, p)
		}()
	}
}

// Revoked implements kafka.Assignment.
func (s *assigned) Revoked(_ context.Context, _ string, partitions []int32) { s.drop(partitions) }

// Lost implements kafka.Assignment: another one may be writing, whose epoch is higher.
func (s *assigned) Lost(_ context.Context, _ string, partitions []int32) { s.drop(partitions) }

func (s *assigned) drop(partitions []int32) {
	s.mu.Lock()
	var ending []*running
	for _, p := range partitions {
		if r := s.running[p]; r != nil {
			r.cancel()
			ending = append(ending, r)
			delete(s.running, p)
		}
	}
	s.mu.Unlock()
	for _, r := range ending {
		<-r.done
	}
}

// end ends all of them.
func (s *assigned) end() {
	s.stop()
	s.mu.Lock()
	all := s.running
	s.running = map[int32]*running{}
	s.mu.Unlock()
	for _, r := range all {
		<-r.done
	}
}

// keep archives a partition until ctx ends. Whatever fails, it begins anew from what the store says: so no doubt about a
// write is carried on.
func (a *Archiver) keep(ctx context.Context, partition int32) {
	defer a.metrics.gone(partition)
	first := a.cfg.pause
	if first == 0 {
		first = firstPause
	}
	pause, failing := first, false
	for ctx.Err() == nil {
		t := &tenure{a: a, partition: partition, healthy: func() {
			if failing {
				a.logger.Info("the partition is archived again", "partition", partition)
			}
			pause, failing = first, false
		}}
		err := t.run(ctx)
		if ctx.Err() != nil {
			return
		}
		var fenced *store.Fenced
		switch {
		case errors.As(err, &fenced):
			a.logger.Info("another archiver has taken the partition", "partition", partition, "error", err)
		case !failing:
			a.logger.Error("the partition is not archived; it is tried again", "partition", partition, "error", err)
		}
		failing = true
		a.metrics.failures.Inc()
		wait(ctx, pause)
		pause = min(2*pause, mostPause)
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
