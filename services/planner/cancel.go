package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// cancel ends the run; workers of open attempts are told.
func (t *turn) cancel(b *events.CancelWorkflow) {
	if !t.known() {
		return
	}
	switch t.head.Status {
	case Cancelling, Cancelled:
		t.ignore()
	case Completed:
		t.refuse("closed", "the workflow is completed")
	default:
		if t.muchOpen() {
			t.emit(&events.WorkflowCancelling{By: b.By})
			t.pieces.add(events.Work{Kind: events.WorkCancel})
			return
		}
		t.cancelRun(b.By)
	}
}

// muchOpen reports whether closing the run may be more than one record's work.
func (t *turn) muchOpen() bool {
	h := t.head
	seen := h.open() + h.Failed + h.Skipped + h.Cancelled + h.inHand()
	return seen > uint64(t.spend.events/2)
}

func (t *turn) cancelRun(by events.By) {
	for _, id := range t.runs.atWork() {
		t.close(id)
	}
	t.emit(&events.WorkflowCancelled{By: by})
}

// cancelSome closes some of the runnables of a run that is cancelled or deleted.
func (t *turn) cancelSome(w events.Work) {
	t.each(w, func(_ events.RunnableID, r *runnable) bool { return r.Status.open() }, t.close)
}

// close closes a runnable of a run that is cancelled or deleted, if it is open.
func (t *turn) close(id events.RunnableID) {
	if r := t.runs.get(id); r != nil && r.Status.open() {
		t.emit(&events.RunnableCancelled{Runnable: id, Idle: r.Status != runActive || r.External, Work: r.goesOn()})
	}
}

// remove deletes a closed run, or one that is on its way to that; forced, it cancels first.
func (t *turn) remove(b *events.DeleteWorkflow) {
	switch {
	case !t.exists():
		t.ignore()
	case !t.head.Status.closed() && t.head.Status != Cancelling && !b.Force:
		t.refuse("not_closed", "the workflow is "+t.head.Status.String()+"; cancel it first, or force the deletion")
	default:
		t.delete(b.By)
	}
}

// delete deletes a run; one that is not closed is cancelled first.
func (t *turn) delete(by events.By) {
	switch {
	case t.head.Status == Cancelling || t.muchOpen() || t.manyRows():
		t.emit(&events.WorkflowDeleting{By: by, Told: t.waiting()})
		t.pieces.add(events.Work{Kind: events.WorkCancel})
		t.pieces.add(events.Work{Kind: events.WorkRemove})
	case t.head.Status.closed():
		t.emit(&events.WorkflowDeleted{By: by, Told: t.waiting(), Drains: t.notices().Drains})
	default:
		t.removeOpen(by)
	}
}

// removeOpen cancels a run and deletes it in one record. Its rows are gone by
// then, so the deletion itself says which attempts were open.
func (t *turn) removeOpen(by events.By) {
	gone := t.deletion()
	gone.By = by
	t.cancelRun(by)
	gone.Told = t.waiting()
	t.emit(gone)
}

// deletion is that of the run with the attempts that are open, whose workers it tells.
func (t *turn) deletion() *events.WorkflowDeleted {
	gone := &events.WorkflowDeleted{Open: t.runs.attempts(), Drains: t.notices().Drains}
	if len(gone.Open) > 0 {
		gone.Run = t.head.Run
	}
	return gone
}

// Rows that a record removes for each event of its budget, and bytes of facts that it
// reads for that.
const (
	removedRows  = 4
	removedBytes = 4 << 20
)

// manyRows reports whether removing the run's rows may be more than one record's work.
func (t *turn) manyRows() bool {
	most := removedRows * t.spend.budget.Events
	for _, table := range ownTables {
		keys, full := t.firstRows(table, most+1, removedBytes)
		if full {
			return true
		}
		most -= len(keys)
	}
	return false
}

// removeSome removes some of the rows of a run that is being deleted.
func (t *turn) removeSome() {
	most := removedRows * t.spend.budget.Events
	for _, table := range ownTables {
		if table == rows.InHand { // what is left there says that there is more to remove
			continue
		}
		keys, full := t.firstRows(table, most, removedBytes)
		if n := len(keys); n > 0 {
			t.emit(&events.RowsRemoved{Table: uint8(table), Rows: uint64(n)})
			most -= n
		}
		if full {
			t.spend.events = 0
			return
		}
	}
	t.pieces.pop()
}

// waiting are those who wait for the workflow to drain.
func (w *workflow) waiting() []events.ReplyTo {
	var all []events.ReplyTo
	for _, asks := range w.head.Waiters {
		all = append(all, events.ReplyTo{Address: asks.Address, ID: asks.ID})
	}
	return all
}

// checkpoint makes the workflow's changed rows due now.
func (t *turn) checkpoint(b *events.CheckpointWorkflow) {
	if t.open(true) {
		t.emit(&events.CheckpointRequested{By: b.By})
	}
}
