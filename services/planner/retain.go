package planner

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// DefaultRetain is how long workflows at rest are kept where nobody says.
var DefaultRetain = definition.Retain{
	Completed: 7 * 24 * time.Hour, Failed: 90 * 24 * time.Hour, Cancelled: 7 * 24 * time.Hour, Idle: definition.Forever,
}

// retention is how long a workflow is kept that has come to a status; not above 0: until
// somebody deletes it.
func (w *workflow) retention(s Status) time.Duration {
	keep := w.options().Retain
	switch s {
	case Completed:
		return keep.Completed
	case Failed:
		return keep.Failed
	case Cancelled:
		return keep.Cancelled
	case Idle:
		return keep.Idle
	default:
		return definition.Forever
	}
}

// retain says until when a workflow is kept that a record has brought to rest.
func (t *turn) retain() {
	if t.head == nil || t.head.Status == Running || t.head.Until != 0 || t.head.awaitsArchive() {
		return
	}
	if d := t.retention(t.head.Status); d > 0 {
		t.emit(&events.RetentionArmed{Until: t.now + d.Milliseconds()})
	}
}

func (w *workflow) retentionArmed(e *events.RetentionArmed) { w.endAt(e.Until) }

// keptLongEnough deletes a workflow that has been at rest for as long as it is kept, whatever
// it has open.
func (t *turn) keptLongEnough(k rows.Key) {
	if t.head.Until != int64(k.A) || t.head.Status == Stopping {
		return
	}
	if t.p.cfg.Archive && !t.head.archived() {
		t.emit(&events.ArchiveAwaited{Run: t.head.Run})
		return
	}
	t.forgetRun()
}

// forgetRun deletes a workflow that has been kept for long enough.
func (t *turn) forgetRun() {
	s := t.head.Status
	t.delete(events.By{Who: "heddle", Why: fmt.Sprintf("it has been %s for %s (option retain)", s, t.retention(s))})
}

// archived takes the archiver's word that it has a run. It counts for one that is to be deleted some day, if nothing
// has come of it that the archive has not: a closed run is the same for ever.
func (t *turn) archived(m *events.RunArchived) {
	if !t.exists() || m.Run != t.head.Run || t.head.archived() {
		return
	}
	h := t.head
	kept := h.awaitsArchive() || h.Until != 0 && h.Status != Stopping
	if !kept || !h.Status.closed() && m.Through.Before(h.Applied) {
		return
	}
	awaited := h.awaitsArchive()
	t.emit(&events.WorkflowArchived{Through: m.Through})
	if awaited {
		t.forgetRun()
	}
}

// archiveAwaited takes the timer away that would have deleted the workflow: the archiver's word does.
func (w *workflow) archiveAwaited() {
	w.disarm()
	w.h().Rest = &rest{Awaits: true}
}

func (w *workflow) kept() {
	r := rest{Archived: true}
	if w.head.Rest != nil {
		r.Awaits = w.head.Rest.Awaits
	}
	w.h().Rest = &r
}
