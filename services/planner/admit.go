package planner

import (
	"cmp"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// admit dispatches ready runnables in order while there is room and budget. It reports
// whether there is more to do because of it: what was not dispatched after all, or takes
// no room, has left that to others.
func (t *turn) admit() bool {
	if t.head.Status != Running {
		t.queue.fresh = t.queue.fresh[:0]
		return false
	}
	next := t.queue.next()
	for _, e := range next {
		if t.spend.full() {
			break
		}
		t.dispatch(e.id)
		if t.head.Status != Running {
			break // a shaping failed and halted the workflow
		}
	}
	t.queue.fresh = t.queue.fresh[:0]
	_, more := t.pieces.front()
	return more || len(next) > 0 && t.queue.waits()
}

// dispatch records the intent to run the next attempt.
func (t *turn) dispatch(id events.RunnableID) {
	r := t.runs.get(id)
	c := t.component(r.Component)
	pol := r.policy()
	if t.asksFirst(id, c, r, pol) {
		return
	}
	input, failure := t.shape(c, id, r)
	if failure != nil {
		t.ends.failFor(id, *failure, "", failedAttempt)
		return
	}
	key, failure := t.idempotencyKey(c, r, pol)
	if failure != nil {
		t.ends.failFor(id, *failure, "", failedAttempt)
		return
	}
	other := r.other(pol)
	if pol.Mode == policy.External && other.Task == "" {
		t.emit(&events.RunnableDispatched{Runnable: id, Attempt: r.Attempt + 1, For: r.For, Key: key})
		t.emit(&events.RunnableNotified{Runnable: id, Channel: "external", Detached: true, At: t.now})
		return
	}
	t.spend.tasks -= len(input) + len(t.setup().Context) + len(t.scopes.given(r.Scope).Context) + len(t.setup().own(c))
	queue := cmp.Or(other.Queue, queueOf(c, pol))
	t.emit(&events.RunnableDispatched{
		Runnable: id, Attempt: r.Attempt + 1, Queue: queue, For: r.For, StartBy: t.startBy(r, pol), Key: key, Work: r.left(), Pool: t.shardOf(t.poolOf(queue, other, pol), id, r),
	})
}

// shape is the input of the next attempt, or why there is none.
func (t *turn) shape(c *definition.Component, id events.RunnableID, r *runnable) (input []byte, failure *events.TaskError) {
	var err error
	a := activation{parents: r.Parents, input: r.Input}
	over := t.spend.evaluate(invocation{t, c, 0, a}.size(), func() {
		input, err = t.contexts.shape(c, id, r, t.now)
		if t.spend.spent() {
			t.spend.exceeds()
		}
		t.spend.holds(len(input))
	})
	switch {
	case over != nil:
		return nil, &events.TaskError{Type: over.typ, Message: over.Message, NonRetryable: true}
	case err != nil:
		return nil, &events.TaskError{Type: events.ErrorExpression, Message: err.Error(), NonRetryable: true}
	}
	return input, nil
}
