package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// timer applies a timer that is due. One whose row is gone was overtaken by
// something else and changes nothing.
func (t *turn) timer(k rows.Key) {
	armed := rows.Get[machine.Timer](t.tx, k)
	if armed == nil || t.head == nil {
		return
	}
	if k.C == machine.TimerSignal {
		t.emit(&events.SignalExpired{Signal: k.B})
		return
	}
	id := events.RunnableID(k.B)
	if t.head.Status.winding() {
		t.close(id)
		return
	}
	switch k.C {
	case machine.TimerDrain:
		t.drainOver(k)
	case machine.TimerRetain:
		t.keptLongEnough(k)
	case machine.TimerTimeout:
		if r := t.runs.get(id); r != nil && r.Status == runActive && r.Attempt == armed.Attempt {
			t.ends.timedOut(id, r)
		}
	case machine.TimerStart:
		if r := t.runs.get(id); r != nil && r.limit().startDue() == int64(k.A) {
			t.ends.notBegun(id, r, r.limit().Unknown, r.Returned)
		}
	case machine.TimerWhole:
		if r := t.runs.get(id); r != nil && r.limit().Whole == int64(k.A) {
			t.ends.overdue(id, r)
		}
	case machine.TimerSilent:
		if r := t.runs.get(id); r != nil && r.limit().Silent == int64(k.A) {
			t.ends.silent(id, r)
		}
	case machine.TimerWake, machine.TimerGiveUp:
		r := t.runs.get(id)
		switch {
		case r == nil || r.Status != runWaiting:
		case r.Permit != nil:
			t.askAgain(id, r)
		default:
			t.invoked(id).do(invocation.wake)
		}
	}
}
