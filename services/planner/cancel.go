package planner

import "github.com/heddle-run/heddle/shared/events"

// cancel ends the run; takers of open attempts are told.
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
	for _, id := range t.activeAttempts() {
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
		t.cancelRun(b.By)
	}
	t.emit(&events.WorkflowDeleted{By: b.By, Told: t.waiting()})
}

// waiting are those who wait for the workflow to drain.
func (t *turn) waiting() []events.ReplyTo {
	var all []events.ReplyTo
	for _, w := range t.head.Waiters {
		all = append(all, events.ReplyTo{Address: w.Address, ID: w.ID})
	}
	return all
}

// checkpoint makes the workflow's changed rows due now.
func (t *turn) checkpoint(b *events.CheckpointWorkflow) {
	if t.open(true) {
		t.emit(&events.CheckpointRequested{By: b.By})
	}
}
