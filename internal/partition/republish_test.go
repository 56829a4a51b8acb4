package partition

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// tasksSeen are the task records of a queue, as they are written.
type tasksSeen struct {
	mu  sync.Mutex
	all []*events.Task
}

// watchTasks follows the default queue, and takes nothing.
func (r *rig) watchTasks() *tasksSeen {
	seen := &tasksSeen{}
	r.tail(r.names.Tasks("default"), func(k *kgo.Record) {
		task := &events.Task{}
		if err := wire.Unmarshal(k.Value, task); err != nil {
			r.t.Errorf("a task cannot be read: %v", err)
		}
		task.Token = slices.Clone(task.Token)
		task.Input = slices.Clone(task.Input)
		seen.mu.Lock()
		seen.all = append(seen.all, task)
		seen.mu.Unlock()
	})
	return seen
}

func (s *tasksSeen) tasks() []*events.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// What was reported while no planner was there is not published again: only what
// is still open once the inbox is read (E1).
func TestE1WhatWasReportedMeanwhileIsNotPublishedAgain(t *testing.T) {
	const reported, open = 50, 3
	inBubble(t, func(r *rig) {
		r.settings.NeverRunsTwice = true
		p := r.partitionOf("w")
		seen := r.watchTasks()
		a := r.start("a", p)
		r.counted("w", reported+open)
		<-time.After(time.Second)
		a.kill()
		first := seen.tasks()
		if len(first) != reported+open {
			t.Fatalf("%d tasks were published, want %d", len(first), reported+open)
		}
		for _, task := range first[:reported] {
			r.outcome("w", task)
		}
		<-time.After(time.Minute)
		b := r.start("a", p)
		defer b.leave()
		b.await(Owning)
		<-time.After(3 * time.Second)
		again := seen.tasks()[len(first):]
		if len(again) != open {
			t.Errorf("%d tasks were published again, want the %d whose outcome is not known", len(again), open)
		}
		for _, task := range again {
			r.outcome("w", task)
		}
		if got := r.settled("w"); got != 7*(reported+open) {
			t.Errorf("the sum is %d, want %d", got, 7*(reported+open))
		}
	})
}
