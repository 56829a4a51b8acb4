package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
)

// story is what the journal says of one workflow.
type story struct {
	started, terminal, settled int
	completed                  map[events.RunnableID]int
	after                      int // events after the terminal one
}

// journalFacts are what the journal says of all workflows.
type journalFacts struct {
	runs      map[string]*story
	records   int // lawful
	void      int
	takeovers int
}

// open lists runs that have started and not ended.
func (f *journalFacts) open() []string {
	var ids []string
	for id, s := range f.runs {
		if s.started > s.terminal {
			ids = append(ids, id)
		}
	}
	return ids
}

// settledJournal reads the journal until every run in it has ended, at most
// until the limit: then it is returned as it is.
func settledJournal(ctx context.Context, brokers []string, limit time.Duration) (*journalFacts, error) {
	began := time.Now()
	for {
		facts, err := readJournal(ctx, brokers)
		if err != nil || len(facts.open()) == 0 || time.Since(began) > limit {
			return facts, err
		}
		if pause(ctx, 500*time.Millisecond); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// readJournal reads every journal partition from its start to its present end
// by the void rule (J1).
func readJournal(ctx context.Context, brokers []string) (*journalFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	config := kafka.Config{Brokers: brokers, ClientID: "heddle-torture"}
	names, err := topics.NewNames("")
	if err != nil {
		return nil, err
	}
	cl, err := kafka.NewPartitionConsumer(config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, names.Journal())
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the journal's ends: %w", err)
	}
	facts := &journalFacts{runs: map[string]*story{}}
	for p, end := range ends[names.Journal()] {
		if err := facts.partition(ctx, cl, names.Journal(), p, end.Offset); err != nil {
			return nil, fmt.Errorf("reading journal partition %d: %w", p, err)
		}
	}
	return facts, nil
}

func (f *journalFacts) partition(ctx context.Context, cl *kgo.Client, topic string, p int32, end int64) error {
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().AtStart()}})
	defer cl.RemoveConsumePartitions(map[string][]int32{topic: {p}})
	var filter journal.Filter
	for next := int64(0); next < end; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			rec := iter.Next()
			next = rec.Offset + 1
			if err := f.record(&filter, rec); err != nil {
				return fmt.Errorf("offset %d: %w", rec.Offset, err)
			}
		}
	}
	return nil
}

func (f *journalFacts) record(filter *journal.Filter, in *kgo.Record) error {
	head, err := journal.ParseHeaders(in.Headers)
	if err != nil {
		return err
	}
	if !head.Lawful(filter) {
		f.void++
		return nil
	}
	rec, err := journal.Decode(in)
	if err != nil {
		return err
	}
	f.records++
	if head.Takeover {
		f.takeovers++
	}
	if rec.Workflow == "" {
		return nil
	}
	r := f.runs[rec.Workflow]
	if r == nil {
		r = &story{completed: map[events.RunnableID]int{}}
		f.runs[rec.Workflow] = r
	}
	for _, e := range rec.Events {
		r.event(e)
	}
	return nil
}

// event counts one event. Only refusals and what changes nothing may follow a
// terminal event.
func (r *story) event(e events.Event) {
	switch e := e.(type) {
	case *events.CommandRefused, *events.CommandIgnored, *events.DefinitionPinned:
		return
	case *events.WorkflowStarted:
		r.started++
	case *events.InputSettled:
		r.settled++
	case *events.RunnableCompleted:
		r.completed[e.Runnable]++
	case *events.WorkflowCompleted, *events.WorkflowCancelled, *events.WorkflowDeleted, *events.WorkflowFailed:
		r.terminal++
		return
	}
	if r.terminal > 0 {
		r.after++
	}
}
