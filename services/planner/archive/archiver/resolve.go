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
	k, err := t.stored(ctx, l)
	if err != nil {
		return false, err
	}
	same, err := t.sure(ctx, l, k)
	switch {
	case err != nil:
		return false, err
	case !same:
		return t.strange(ctx, l)
	}
	l.Run, l.Resolved, l.At, l.Last = k.run, true, k.entries, k.last
	l.Pending = behind(l.Pending, k.last)
	if l.Status == "" {
		l.Status = k.sum.Status
	}
	l.Lacks, l.Closed = k.snap.Lacks, l.Closed || k.snap.Over
	if k.snap.Deleted {
		l.Deleted, l.Pending, l.Report = true, nil, false
	}
	return true, nil
}

// kept is a run that the store has.
type kept struct {
	run     events.RunID
	entries uint64
	last    events.Position // of its last entry
	snap    archive.Snapshot
	sum     events.Summary
}

// stored is the newest run of a workflow in the store that has begun when the log was first seen; nil: there is none.
func (t *tenure) stored(ctx context.Context, l *archive.Log) (*kept, error) {
	var found *kept
	id := ""
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
			if found == nil || found.run.Before(run.Start) {
				found, id = &kept{run: run.Start, entries: item.End}, item.ID
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if found == nil {
		return nil, nil
	}
	var err error
	if found.last, err = t.a.lastOf(ctx, id, found.entries); err != nil {
		return nil, err
	}
	s, _, err := t.a.loadSnapshot(ctx, id)
	if err != nil || s == nil {
		return found, err
	}
	found.snap = *s
	return found, json.Unmarshal(s.Summary, &found.sum)
}

// sure reports whether a log is of the run that the store has. It may be another one's whose beginning was lost: behind records that
// the journal had no more when they were to be taken, or if something has come of it though the stored one is over.
func (t *tenure) sure(ctx context.Context, l *archive.Log, k *kept) (bool, error) {
	switch {
	case k == nil:
		return false, nil
	case !l.Named.IsZero():
		return l.Named == k.run, nil
	}
	rest := behind(l.Pending, k.last)
	if len(l.Pending) > 0 && len(rest) == 0 { // they were written before a fall
		return true, nil
	}
	if !k.last.Before(t.keeper.Gap()) && !(k.snap.Over && archive.Alive(rest)) {
		return true, nil
	}
	w, err := t.a.askPlanner(ctx, l.Workflow)
	return w.sum != nil && w.sum.Run == k.run, err
}

// strange finds out which run it is whose beginning nobody has any more: its records say it, or its planner.
func (t *tenure) strange(ctx context.Context, l *archive.Log) (there bool, err error) {
	if l.Deleted && len(l.Pending) == 0 { // before anything of it was archived
		return false, nil
	}
	if !l.Named.IsZero() {
		l.Run, l.Resolved, l.Lacks, l.Created = l.Named, true, true, l.Pending[0].Time
		return true, nil
	}
	w, err := t.a.askPlanner(ctx, l.Workflow)
	if err != nil {
		return false, err
	}
	if w.why != "" && w.sum == nil {
		t.a.logger.Error("a run without a beginning is not archived: its planner does not say which it is",
			"workflow", l.Workflow, "partition", t.partition, "error", w.why)
	}
	if w.sum == nil || l.Seen.Before(w.sum.Run) { // it is gone, and what began since is another one
		t.a.metrics.strange.Inc()
		return false, nil
	}
	l.Run, l.Resolved, l.Lacks, l.Created = w.sum.Run, true, true, int64(w.sum.Created)
	if l.Status == "" {
		l.Status = w.sum.Status
	}
	return true, nil
}

// askTimeout bounds the questions to a planner, of which one may just be taking the partition over.
const askTimeout = 20 * time.Second

// words are what a planner says of a workflow.
type words struct {
	sum     *events.Summary // nil: there is no workflow, or the planner refuses to say
	results json.RawMessage
	why     string // the planner refuses to say it
}

// askPlanner asks for the summary and the results of a workflow. What its planner refuses to say for good is no error, as
// asking again does not help.
func (a *Archiver) askPlanner(ctx context.Context, workflow string) (w words, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, err := a.deployment.Read(ctx, events.Query{Kind: "workflow", Workflow: workflow})
	if r := refusedForGood(err); r != nil {
		if r.Code != "not_found" {
			w.why = "its planner does not say what it came to: " + r.Message
		}
		return w, nil
	}
	if err != nil {
		return w, err
	}
	var sum events.Summary
	if err := json.Unmarshal(body, &sum); err != nil {
		return w, err
	}
	body, err = a.deployment.Read(ctx, events.Query{Kind: "results", Workflow: workflow})
	switch r := refusedForGood(err); {
	case r != nil && r.Code == "not_found": // it went in between
		return w, nil
	case r != nil:
		w.why = "its planner does not give its results: " + r.Message
	case err != nil:
		return w, err
	default:
		w.results = resultsOf(body)
	}
	w.sum = &sum
	return w, nil
}

// refusedForGood is the refusal that an error is, if it is one that passes not by itself.
func refusedForGood(err error) *events.Refusal {
	var refused *request.RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	switch r := refused.Reply.Refusal; r.Code {
	case "unavailable", "open_transaction":
		return nil
	default:
		return r
	}
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
