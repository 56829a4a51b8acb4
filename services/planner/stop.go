package planner

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// stop drains what is active, up to a limit, and stops.
func (t *turn) stop(b *events.StopWorkflow) {
	if !t.open(true) {
		return
	}
	if t.head.Status == Stopping || t.head.Status == Stopped {
		t.ignore()
		return
	}
	drain := time.Duration(b.Drain)
	if drain == 0 {
		drain = t.options().Drain
	}
	t.emit(&events.WorkflowStopping{
		Until:   t.now + drain.Milliseconds(),
		Persist: b.Persist == nil || *b.Persist,
		By:      b.By,
	})
}

// drainOver closes as cancelled what is still active at the drain limit; it is
// armed again by resume.
func (t *turn) drainOver(k rows.Key) {
	if t.head == nil || t.head.Status != Stopping || t.head.Until != int64(k.A) {
		return
	}
	t.pieces.add(events.Work{Kind: events.WorkRearm})
}

// rearmSome closes some of the attempts that workers have.
func (t *turn) rearmSome(w events.Work) {
	t.each(w, func(_ events.RunnableID, r *runnable) bool { return r.delivered() }, func(id events.RunnableID) {
		t.emit(&events.RunnableCancelled{Runnable: id, Rearm: true})
	})
}
