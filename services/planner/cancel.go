package planner

import "github.com/heddle-run/heddle/shared/events"

// cancel ends the run; workers of open attempts are told.
func (t *turn) cancel(b *events.CancelWorkflow) {
	if !t.known() {
		return
	}
	switch t.head.Status {
	case Cancelled:
		t.ignore()
	case Completed:
		t.refuse("closed", "the workflow is completed")
	default:
		t.cancelRun(b.By)
	}
}

func (t *turn) cancelRun(by events.By) {
	for _, id := range t.runs.active() {
		t.emit(&events.RunnableCancelled{Runnable: id})
	}
	t.emit(&events.WorkflowCancelled{By: by})
}

// remove deletes a closed run; forced, it cancels first.
func (t *turn) remove(b *events.DeleteWorkflow) {
	if t.head == nil {
		t.ignore()
		return
	}
	if !t.head.Status.closed() {
		if !b.Force {
			t.refuse("not_closed", "the workflow is "+t.head.Status.String()+"; cancel it first, or force the deletion")
			return
		}
		t.removeOpen(b.By)
		return
	}
	t.emit(&events.WorkflowDeleted{By: b.By, Told: t.waiting()})
}

// removeOpen cancels a run and deletes it in one record. Its rows are gone by
// then, so the deletion itself says which attempts were open.
func (t *turn) removeOpen(by events.By) {
	gone := &events.WorkflowDeleted{By: by, Open: t.runs.attempts()}
	if len(gone.Open) > 0 {
		gone.Run = t.head.Run
	}
	t.cancelRun(by)
	gone.Told = t.waiting()
	t.emit(gone)
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
