package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// settle finds out, after every record, what has come to rest: inputs, and the
// workflow as a whole. An input that matched nothing settles at once.
func (t *turn) settle() {
	t.scopes.write()
	h := t.head
	for _, o := range t.scopes.openings {
		if !h.Status.winding() && t.scopes.rested(o.scope) {
			t.emit(&events.InputSettled{Scope: o.scope})
		}
	}
	t.forget()
	switch h = t.head; {
	case h.inHand() > 0:
	case h.Status == Cancelling:
		t.emit(&events.WorkflowCancelled{})
	case h.Status == Deleting:
		t.emit(t.deletion())
	case h.Status == Stopping && h.Slots == 0:
		t.emit(&events.WorkflowStopped{})
	case h.Status == Running && h.open()+h.Halted == 0:
		t.emit(&events.WorkflowIdle{})
		if t.options().Close == definition.OnIdle && t.head.NextFact > 0 {
			t.emit(&events.WorkflowCompleted{})
		}
	}
}

// finish closes a record: what holds for every one of them, live or replayed.
func (w *workflow) finish() {
	if w.head == nil {
		return
	}
	w.scopes.write()
	w.queue.write()
	h := w.h()
	h.Applied, h.Updated = w.at, w.now
	h.Told = nil
	if h.drained() && len(h.Waiters) > 0 {
		h.Told, h.Waiters = h.Waiters, nil
	}
}

// drained reports whether those who wait for the workflow can be told.
func (h *header) drained() bool {
	switch h.Status {
	case Idle, Stopped, Completed, Cancelled:
		return true
	case Failed:
		return h.Slots == 0 && h.inHand() == 0
	default:
		return false
	}
}
