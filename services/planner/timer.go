package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
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
	id := events.RunnableID(k.B)
	switch k.C {
	case machine.TimerDrain:
		t.drainOver(k)
	case machine.TimerTimeout:
		if r := t.runnable(id); r != nil && r.Status == runActive && r.Attempt == armed.Attempt {
			t.timedOut(id, r)
		}
	case machine.TimerWake:
		t.wake(id)
	}
}

// wake ends a sleep, or lines a runnable up for its next attempt.
func (t *turn) wake(id events.RunnableID) {
	r := t.runnable(id)
	if r == nil || r.Status != runWaiting {
		return
	}
	c := t.component(r.Component)
	if c.Kind == definition.Sleep && t.misfit != nil {
		t.failFor(id, events.TaskError{Type: t.misfit.typ, Message: "the sleep is over", NonRetryable: true}, "", failedAttempt)
		return
	}
	if c.Kind == definition.Sleep {
		f := t.nextFact()
		s := r.Scope
		t.emit(&events.TimerFired{Runnable: id, Fact: f})
		t.yield(c, s, f)
		return
	}
	t.emit(&events.TimerFired{Runnable: id})
	t.fresh = append(t.fresh, r.place(id))
}
