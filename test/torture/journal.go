package main

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// story is what the journal says of one workflow.
type story struct {
	started, terminal, settled int
	run                        string // of its last start: EPOCH.SEQ
	completed                  map[events.RunnableID]completion
	after                      int // events after the terminal one
}

// completion is how often a runnable completed, and with what at last.
type completion struct {
	times int
	value string
}

// journalFacts are what the journal says of all workflows.
type journalFacts struct {
	runs      map[string]*story
	records   int
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
func settledJournal(ctx context.Context, brokers []string, partitions int32, limit time.Duration) (*journalFacts, error) {
	began := time.Now()
	for {
		facts, err := readJournal(ctx, brokers, partitions)
		if err != nil || len(facts.open()) == 0 || time.Since(began) > limit {
			return facts, err
		}
		if pause(ctx, 500*time.Millisecond); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// readJournal reads every journal partition from its start to its present end
// with the reader that everybody uses, so by the void rule (J1).
func readJournal(ctx context.Context, brokers []string, partitions int32) (*journalFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := journal.NewReader(kafka.Config{Brokers: brokers, ClientID: "heddle-torture"})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	facts := &journalFacts{runs: map[string]*story{}}
	for p := range partitions {
		whole := journal.Range{Partition: p, To: journal.Now}
		if _, err := r.Read(ctx, whole, facts.record); err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
	}
	return facts, nil
}

func (f *journalFacts) record(e journal.Entry) error {
	rec := e.Record
	f.records++
	if rec.Position.Seq == 1 {
		f.takeovers++
	}
	if rec.Workflow == "" {
		return nil
	}
	r := f.runs[rec.Workflow]
	if r == nil {
		r = &story{completed: map[events.RunnableID]completion{}}
		f.runs[rec.Workflow] = r
	}
	for _, e := range rec.Events {
		if _, ok := e.(*events.WorkflowStarted); ok {
			r.run = fmt.Sprintf("%d.%d", rec.Position.Epoch, rec.Position.Seq)
		}
		r.event(e)
	}
	return nil
}

// event counts one event. Only refusals, the timer by which a run is deleted some day, and what
// changes nothing may follow a terminal event.
func (r *story) event(e events.Event) {
	switch e := e.(type) {
	case *events.CommandRefused, *events.CommandIgnored, *events.DefinitionPinned, *events.RetentionArmed, *events.WorkflowArchived, *events.ArchiveAwaited, *events.WorkflowRestored:
		return
	case *events.WorkflowStarted:
		r.started++
	case *events.InputSettled:
		r.settled++
	case *events.RunnableCompleted:
		r.completed[e.Runnable] = completion{r.completed[e.Runnable].times + 1, string(e.Value)}
	case *events.WorkflowCompleted, *events.WorkflowCancelled, *events.WorkflowDeleted, *events.WorkflowFailed:
		r.terminal++
		return
	}
	if r.terminal > 0 {
		r.after++
	}
}
