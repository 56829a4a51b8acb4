package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// resolve finds out which run a log is of whose beginning was not at hand, and what the store has of it. There is none where
// neither the store nor the planner knows it.
func (t *tenure) resolve(ctx context.Context, l *archive.Log) (there bool, err error) {
	if l.Resolved {
		return true, nil
	}
	item, err := t.stored(ctx, l)
	if err != nil {
		return false, err
	}
	if item == nil {
		return t.strange(ctx, l)
	}
	last, err := t.a.lastOf(ctx, item.ID, item.End)
	if err != nil {
		return false, err
	}
	s, _, err := t.a.loadSnapshot(ctx, item.ID)
	if err != nil {
		return false, err
	}
	l.Resolved, l.At, l.Pending = true, item.End, behind(l.Pending, last)
	if s != nil {
		var sum events.Summary
		if err := json.Unmarshal(s.Summary, &sum); err != nil {
			return false, err
		}
		if l.Status == "" {
			l.Status = sum.Status
		}
		l.Lacks, l.Closed = s.Lacks, l.Closed || s.Over
		if s.Deleted {
			l.Deleted, l.Pending, l.Report = true, nil, false
		}
	}
	return true, nil
}

// stored is the newest run of a workflow in the store that has begun when the log was first seen; nil: there is none.
func (t *tenure) stored(ctx context.Context, l *archive.Log) (found *store.Item, err error) {
	for cursor := ""; ; {
		page, err := t.a.store.List(ctx, store.Filter{Prefix: archive.RunsOf(l.Workflow)}, cursor)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			run, err := archive.ParseRunID(item.ID)
			if err != nil || run.Journal != t.a.journalName() || l.Seen.Before(run.Start) {
				continue
			}
			if found == nil || l.Run.Before(run.Start) {
				found, l.Run = &item, run.Start
			}
		}
		if cursor = page.Next; cursor == "" {
			return found, nil
		}
	}
}

// strange asks the planner which run it is whose beginning nobody has any more.
func (t *tenure) strange(ctx context.Context, l *archive.Log) (there bool, err error) {
	sum, _, err := t.a.askPlanner(ctx, l.Workflow)
	if err != nil {
		return false, err
	}
	if sum == nil || l.Seen.Before(sum.Run) { // it is gone, and what began since is another one
		t.a.metrics.strange.Inc()
		return false, nil
	}
	l.Run, l.Resolved, l.Lacks, l.Created = sum.Run, true, true, int64(sum.Created)
	if l.Status == "" {
		l.Status = sum.Status
	}
	return true, nil
}

// askTimeout bounds the questions to a planner, of which one may just be taking the partition over.
const askTimeout = 20 * time.Second

// askPlanner asks for the summary and the results of a workflow; nil: there is none.
func (a *Archiver) askPlanner(ctx context.Context, workflow string) (*events.Summary, json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, err := a.ask.Read(ctx, events.Query{Kind: "workflow", Workflow: workflow})
	var refused *request.RefusedError
	if errors.As(err, &refused) && refused.Reply.Refusal.Code == "not_found" {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var sum events.Summary
	if err := json.Unmarshal(body, &sum); err != nil {
		return nil, nil, err
	}
	results, err := a.ask.Read(ctx, events.Query{Kind: "results", Workflow: workflow})
	if errors.As(err, &refused) {
		return nil, nil, nil
	}
	return &sum, resultsOf(results), err
}

// resultsOf are the results in a planner's answer.
func resultsOf(body json.RawMessage) json.RawMessage {
	var answer struct {
		Results json.RawMessage `json:"results"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	return answer.Results
}

// loadSnapshot is what the store has of a run in short; nil: nothing.
func (a *Archiver) loadSnapshot(ctx context.Context, id string) (*archive.Snapshot, uint64, error) {
	s, ok, err := a.store.LoadSnapshot(ctx, id)
	if err != nil || !ok {
		return nil, 0, err
	}
	parsed, err := archive.ParseSnapshot(s.Data)
	return parsed, s.At, err
}
