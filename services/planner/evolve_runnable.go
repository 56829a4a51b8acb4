package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

func (t *turn) change(id events.RunnableID) *runnable {
	return rows.Change[runnable](t.tx, runnableKey(t.wf, id))
}

func (t *turn) applyFact(e *events.FactProduced) {
	t.h().NextFact = uint64(e.Fact)
	t.keep(e.Fact, &fact{
		Component: e.Component + 1, Scope: e.Scope, Parents: e.Parents, Depth: t.depth(e.Parents), Time: t.now, Value: e.Value,
	})
	t.output(e.Component, e.Fact)
	t.closeJoin(e.Component, e.Scope)
}

func (t *turn) applyReady(e *events.RunnableReady) {
	h := t.h()
	h.NextRun = uint64(e.Runnable)
	h.Ready++
	r := &runnable{
		Component: e.Component, Scope: e.Scope, Parents: e.Parents, Depth: e.Depth, Policy: e.Policy,
		Status: runReady, Created: t.now,
	}
	t.tx.Create(runnableKey(t.wf, e.Runnable), r)
	t.queue(r.place(e.Runnable))
	t.opened(e.Scope)
	t.closeJoin(e.Component, e.Scope)
}

func (t *turn) applyDispatched(e *events.RunnableDispatched) {
	h, r := t.h(), t.change(e.Runnable)
	t.leave(e.Runnable, r)
	h.Active++
	r.Status, r.Attempt, r.Decided = runActive, e.Attempt, t.at
	r.Queue, r.Executor, r.Deadline = e.Queue, "", 0
	r.Since, r.Notified, r.Detached = t.now, false, false
	r.External = e.Queue == ""
	r.Beside = h.Slots > 0
	if !r.External {
		h.Slots++
	}
}

// applyNotified arms the planner's own timer of the attempt: the backstop when
// a taker runs it, the only one when somebody completes it by its token.
func (t *turn) applyNotified(e *events.RunnableNotified) {
	r := t.change(e.Runnable)
	t.disarm(e.Runnable, r)
	r.Executor = e.Executor
	if timeout := r.policy().Timeout.Milliseconds(); timeout > 0 {
		r.Deadline = t.now + timeout
		if !r.External {
			r.Deadline += BackstopMargin
		}
		t.tx.Put(timerKey(t.wf, r.Deadline, e.Runnable, machine.TimerTimeout), &machine.Timer{Attempt: r.Attempt})
	}
	r.Notified, r.Detached = true, r.Detached || e.Detached
}

// leave takes a runnable out of the state it is in: out of the counts, the
// queue, its timers and its attempt.
func (t *turn) leave(id events.RunnableID, r *runnable) {
	h := t.h()
	switch r.Status {
	case runReady:
		h.Ready--
		t.unqueue(r.place(id))
	case runWaiting:
		h.Waiting--
		t.tx.Delete(timerKey(t.wf, r.Due, id, machine.TimerWake))
		r.Due = 0
	case runActive:
		h.Active--
		t.disarm(id, r)
		if r.Former != 0 {
			t.letContext(r)
		}
		if !r.External {
			h.Slots--
		}
	case runFailed:
		h.Failed--
		h.Halted--
	case runCancelled:
		h.Cancelled--
	case runSkipped: // for good
	}
}

func (t *turn) disarm(id events.RunnableID, r *runnable) {
	if r.Deadline != 0 {
		t.tx.Delete(timerKey(t.wf, r.Deadline, id, machine.TimerTimeout))
		r.Deadline = 0
	}
}

// enqueue lines a runnable up for admission.
func (t *turn) enqueue(id events.RunnableID, r *runnable) {
	r.Status = runReady
	t.h().Ready++
	t.queue(r.place(id))
}

// applyCompleted folds the runnable's row into its fact.
func (t *turn) applyCompleted(e *events.RunnableCompleted) {
	h, row := t.h(), *t.runnable(e.Runnable) // it goes away: no copy in the Tx
	r := &row
	t.leave(e.Runnable, r)
	h.Completed++
	h.Outcomes++
	h.NextFact = uint64(e.Fact)
	t.keep(e.Fact, &fact{
		Component: r.Component + 1, Scope: r.Scope, Parents: r.Parents, Depth: r.Depth, Time: t.now, Value: e.Value,
		Runnable: e.Runnable, Attempt: r.Attempt, Past: r.Past, Executor: e.Executor, Started: e.Started, Finished: e.Finished,
	})
	t.tx.Delete(runnableKey(t.wf, e.Runnable))
	t.output(r.Component, e.Fact)
	t.closed(r.Scope)
}

func (t *turn) applyFailed(id events.RunnableID, err events.TaskError, action events.Action, how ending) {
	h, r := t.h(), t.change(id)
	t.leave(id, r)
	h.Outcomes++
	r.Error = &err
	r.Past = remember(r.Past, pastAttempt{
		Attempt: r.Attempt, Outcome: [...]string{"failed", "timed_out", "lost"}[how], Error: err, Time: t.now,
	})
	if how == lostAttempt {
		r.Losses++
	} else {
		r.Failures++
	}
	switch action {
	case events.ActionRetry:
		r.Status = 0 // RetryScheduled follows
	case events.ActionHalt:
		r.Status = runFailed
		h.Failed++
		h.Halted++
	case events.ActionSkip:
		r.Status = runSkipped
		h.Skipped++
		t.closed(r.Scope)
		if t.kindOf(r).traits().counted {
			h.badCondition(id)
		}
	}
}

// badCondition counts a condition that could not be evaluated: nothing else of
// the workflow's end tells of it.
func (h *header) badCondition(id events.RunnableID) {
	r := h.troubled()
	if r.BadConditions++; len(r.FirstBad) < events.MaxFirstConditionErrors {
		r.FirstBad = append(slices.Clone(r.FirstBad), id)
	}
}

// remember appends a closed attempt to a runnable's past, which is bounded.
func remember(past []pastAttempt, a pastAttempt) []pastAttempt {
	if len(past) >= maxPastAttempts {
		past = past[1:]
	}
	return append(append(make([]pastAttempt, 0, len(past)+1), past...), a)
}

func (t *turn) applyReturned(e *events.RunnableReturned) {
	r := t.change(e.Runnable)
	t.leave(e.Runnable, r)
	r.Returns++
	r.Returned = said(e)
	r.Status = 0
	t.wait(e.Runnable, e.Due)
}

// wait makes a runnable wait for its time, or lines it up when that has come.
func (t *turn) wait(id events.RunnableID, due int64) {
	r := t.change(id)
	t.leave(id, r)
	if due <= t.now && t.kindOf(r).traits().queued {
		t.enqueue(id, r)
		return
	}
	r.Status, r.Due = runWaiting, due
	t.h().Waiting++
	t.tx.Put(timerKey(t.wf, due, id, machine.TimerWake), &machine.Timer{})
}

func (t *turn) applyFired(e *events.TimerFired) {
	r := t.change(e.Runnable)
	t.leave(e.Runnable, r)
	if e.Fact == 0 {
		t.enqueue(e.Runnable, r)
		return
	}
	h := t.h()
	h.Completed++
	h.NextFact = uint64(e.Fact)
	t.keep(e.Fact, &fact{
		Component: r.Component + 1, Scope: r.Scope, Parents: r.Parents, Depth: r.Depth, Time: t.now,
		Value: t.arrived(t.component(r.Component), r.Parents), Runnable: e.Runnable, Started: r.Created, Finished: t.now,
	})
	t.tx.Delete(runnableKey(t.wf, e.Runnable))
	t.output(r.Component, e.Fact)
	t.closed(r.Scope)
}

func (t *turn) applyRetried(e *events.RunnableRetried) {
	r := t.change(e.Runnable)
	t.leave(e.Runnable, r)
	r.Failures, r.Losses, r.Returns, r.Returned = 0, 0, 0, ""
	if len(e.Input) > 0 {
		r.Input = e.Input
	}
	t.enqueue(e.Runnable, r)
}

func (t *turn) applySkipped(e *events.RunnableSkipped) {
	r := t.change(e.Runnable)
	t.leave(e.Runnable, r)
	r.Status = runSkipped
	t.h().Skipped++
	t.closed(r.Scope)
}

// applyCancelled closes an open attempt; one to be armed again goes back to the
// admission queue, where resume finds it.
func (t *turn) applyCancelled(e *events.RunnableCancelled) {
	if !e.Rearm {
		t.closeAs(e.Runnable, runCancelled)
		t.h().Cancelled++
		return
	}
	r := t.change(e.Runnable)
	t.leave(e.Runnable, r)
	r.Past = remember(r.Past, pastAttempt{
		Attempt: r.Attempt, Outcome: "cancelled", Time: t.now,
		Error: events.TaskError{Type: events.ErrorCancelled, Message: "open at the drain limit"},
	})
	t.enqueue(e.Runnable, r)
}

func (t *turn) closeAs(id events.RunnableID, s RunnableStatus) {
	r := t.change(id)
	t.leave(id, r)
	r.Status = s
	t.closed(r.Scope)
}
