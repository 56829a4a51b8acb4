package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/services/planner/archive/shelf"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// lived is a run as its journal has it.
type lived struct {
	workflow string
	p        int32
	start    events.RunID
	entries  []events.Position // of its records that belong into its log
	closed   bool
	deleted  bool
	mixed    bool // a record that does not belong there is among them: what they come to is not what the journal comes to there
	behind   bool // such a record has come, and no entry since
}

// audit holds the archive against the journals, when all has come to rest: it has each closed run once, with the journal's records, and they
// come to what the journal comes to; nothing is deleted by its age before it was archived.
func (a *archiving) audit() {
	if a == nil {
		return
	}
	w := a.w
	journals := w.audit.allLawful()
	var all []*lived
	for p, records := range journals {
		all = append(all, a.runs(int32(p), records)...)
	}
	var missing error
	rounds := 0
	w.audit.until("every closed run is archived", func() bool {
		if rounds++; rounds%16 != 1 {
			return false
		}
		missing = a.missing(all)
		return missing == nil
	})
	if missing != nil {
		w.fail("the archive: %w", missing)
		return
	}
	for _, r := range all {
		if err := a.comes(r, journals[r.p]); err != nil {
			w.failAbout(w.workflow(r.workflow), "the archive of %s: %w", r.workflow, err)
		}
	}
	if err := a.strangers(all); err != nil {
		w.fail("the archive: %w", err)
	}
	a.end()
}

// runs are those of a journal, in the order of their beginnings.
func (a *archiving) runs(p int32, records []*events.Record) (all []*lived) {
	now := map[string]*lived{}
	for _, rec := range records {
		if events.CheckWorkflowID(rec.Workflow) != nil {
			continue
		}
		told := false
		for _, e := range rec.Events {
			r := now[rec.Workflow]
			switch e := e.(type) {
			case *events.WorkflowStarted:
				r = &lived{workflow: rec.Workflow, p: p, start: rec.Position}
				now[rec.Workflow], all = r, append(all, r)
			case *events.WorkflowDeleting:
				a.forgets(r, e.By, rec)
			case *events.WorkflowDeleted:
				a.forgets(r, e.By, rec)
			}
			told = r.takes(rec.Position, e, told) || told
		}
	}
	return all
}

// takes takes an event of a record, and reports whether the record has become one of the log's.
func (r *lived) takes(at events.Position, e events.Event, told bool) bool {
	if r == nil {
		return false
	}
	switch e.(type) {
	case *events.WorkflowDeleting, *events.WorkflowDeleted:
		r.closed, r.deleted = true, true
		return false
	case *events.WorkflowArchived:
		r.behind = true
		return false
	case *events.RowsRemoved, *events.DefinitionPinned:
		return false
	case *events.WorkflowCompleted, *events.WorkflowCancelled:
		r.closed = true
	}
	if r.deleted {
		return false
	}
	if !told {
		r.entries = append(r.entries, at)
		r.mixed = r.mixed || r.behind
	}
	return true
}

// forgets holds that a workflow that is deleted by its age was archived before.
func (a *archiving) forgets(r *lived, by events.By, rec *events.Record) {
	if r != nil && !r.deleted && by.Who == "heddle" && !r.behind {
		a.w.failAbout(a.w.workflow(r.workflow), "%s is deleted by its age at %s, and nobody has said that it is archived", r.workflow, rec.Position)
	}
}

func (a *archiving) id(r *lived) string {
	return archive.RunID(archive.Run{Workflow: r.workflow, Start: r.start, Journal: a.topic[:8]})
}

// positions are those of a log's entries.
func (a *archiving) positions(id string) (all []events.Position, err error) {
	for data, err := range store.Entries(context.Background(), a.kept, id, 0) {
		if err != nil {
			return nil, err
		}
		rec, err := archive.Decode(data)
		if err != nil {
			return nil, err
		}
		all = append(all, rec.Position)
	}
	return all, nil
}

// missing says what is not archived that has to be.
func (a *archiving) missing(all []*lived) error {
	for _, r := range all {
		if !r.closed {
			continue
		}
		have, err := a.positions(a.id(r))
		switch {
		case err != nil:
			return err
		case len(have) < len(r.entries):
			return fmt.Errorf("of the run %s of %s there are %d records, want %d", r.start, r.workflow, len(have), len(r.entries))
		}
		s, ok, err := a.kept.LoadSnapshot(context.Background(), a.id(r))
		if err != nil || !ok || s.At < uint64(len(r.entries)) {
			return fmt.Errorf("the run %s of %s has no snapshot of all of its %d records: %w", r.start, r.workflow, len(r.entries), errors.Join(err))
		}
	}
	return nil
}

// comes holds what the archive has of a run against the journal.
func (a *archiving) comes(r *lived, records []*events.Record) error {
	have, err := a.positions(a.id(r))
	switch {
	case err != nil:
		return err
	case len(have) > len(r.entries) || !slices.Equal(have, r.entries[:len(have)]):
		return fmt.Errorf("the run %s has the records %v, want %v", r.start, have, r.entries)
	case !r.closed || r.deleted || r.mixed:
		return nil
	}
	s := shelf.Shelf{Store: a.kept}
	m, err := s.Restore(context.Background(), r.workflow, r.start.String())
	if err != nil {
		return err
	}
	is := workload.Content{}
	for _, row := range m.Rows {
		is[string(row.Key)] = row.Value
	}
	folded, err := workload.Fold(secret, r.p, upTo(records, have[len(have)-1]))
	if err != nil {
		return err
	}
	want := workload.Content{}
	for key, value := range folded { // order: into a map
		if k, err := rows.ParseKey([]byte(key)); err == nil && k.Owner() == r.workflow {
			want[key] = value
		}
	}
	return workload.Compare("what would be restored", want, is)
}

// strangers holds that the archive has no runs that no journal has.
func (a *archiving) strangers(all []*lived) error {
	known := map[string]bool{}
	for _, r := range all {
		known[a.id(r)] = true
	}
	page, err := a.kept.List(context.Background(), store.Filter{Prefix: archive.AllRuns, Limit: store.MaxLimit}, "")
	for _, item := range page.Items {
		switch {
		case !known[item.ID]:
			return fmt.Errorf("there is %q, which no journal has", item.ID)
		case item.Labels[archive.LabelLacks] != "":
			return fmt.Errorf("%q lacks its beginning, which its journal has", item.ID)
		}
	}
	return err
}

// holds holds that the archive has what a planner is told of.
func (a *archiving) holds(workflow string, m *events.RunArchived) {
	id := archive.RunID(archive.Run{Workflow: workflow, Start: m.Run, Journal: a.topic[:8]})
	have, err := a.positions(id)
	snap, _, unread := a.kept.LoadSnapshot(context.Background(), id)
	if err = errors.Join(err, unread); err != nil || !slices.Contains(have[:min(len(have), int(snap.At))], m.Through) {
		a.w.failAbout(a.w.workflow(workflow), "the planner of %s is told that its run %s is archived through %s, and there is %v (%v)", workflow, m.Run, m.Through, have, err)
	}
}
