package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// admit dispatches ready runnables in order while there is room. It reports
// whether something else has to travel because of it.
func (t *turn) admit() bool {
	if t.head.Status != Running {
		t.queue.fresh = t.queue.fresh[:0]
		return false
	}
	for _, e := range t.queue.next() {
		if t.enough() {
			break
		}
		t.dispatch(e.id)
		if t.head.Status != Running {
			break // a shaping failed and halted the workflow
		}
	}
	t.queue.fresh = t.queue.fresh[:0]
	return len(t.flow.work) > 0
}

// dispatch records the intent to run the next attempt.
func (t *turn) dispatch(id events.RunnableID) {
	r := t.runs.get(id)
	c := t.component(r.Component)
	pol := r.policy()
	input, err := t.contexts.shape(c, r, t.now)
	if err != nil {
		t.ends.failFor(id, events.TaskError{Type: events.ErrorExpression, Message: err.Error(), NonRetryable: true}, "", failedAttempt)
		return
	}
	if pol.Mode == policy.External {
		t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1})
		t.emit(&events.RunnableNotified{Runnable: id, Channel: "external", Detached: true})
		return
	}
	t.spend.admitted = true
	t.spend.tasks -= len(input) + len(t.setup().Context) + len(t.scopes.given(r.Scope).Context)
	t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1, Queue: queueOf(c, pol)})
}

// enough reports whether this decision has admitted as much as it may: the end of
// an attempt that is open lets the others in.
func (t *turn) enough() bool {
	s := &t.spend
	return (s.tasks < 0 || s.steps.Left < t.p.cfg.Budget.Steps/2) && (s.admitted || t.runs.othersEnd())
}
