package planner

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

func (rs *runnables) change(id events.RunnableID) *runnable {
	return rows.Change[runnable](rs.tx, runnableKey(rs.id, id))
}

func (fs *facts) produced(e *events.FactProduced) {
	fs.h().NextFact = uint64(e.Fact)
	fs.keep(e.Fact, &fact{
		Component: e.Component + 1, Scope: e.Scope, Parents: e.Parents, Depth: fs.depth(e.Parents), Time: fs.now, Value: e.Value,
	})
	fs.outputs.note(e.Component, e.Fact)
	fs.joins.closeAt(e.Component, e.Scope)
	fs.folds.over(uint64(e.Scope), e.Component)
}

// folded makes the fact of a new state. The initial one decides no join.
func (fs *facts) folded(e *events.StateChanged) {
	fs.h().NextFact = uint64(e.Fact)
	fs.keep(e.Fact, &fact{
		Component: e.Component + 1, Scope: e.Scope, Parents: e.Parents, Depth: fs.depth(e.Parents), Time: fs.now, Value: e.Value,
	})
	fs.outputs.note(e.Component, e.Fact)
	fs.states.changed(fs.component(e.Component), e.Scope, e.Fact)
	if len(e.Parents) > 0 {
		fs.joins.closeAt(e.Component, e.Scope)
	}
}

func (rs *runnables) ready(e *events.RunnableReady) {
	rs.h().NextRun = uint64(e.Runnable)
	r := &runnable{
		Component: e.Component, Scope: e.Scope, Parents: e.Parents, Depth: e.Depth, Policy: e.Policy, Created: rs.now,
	}
	if rs.component(e.Component).Fold != nil {
		rs.folds.busy(e.Runnable, r)
	}
	rs.tx.Create(runnableKey(rs.id, e.Runnable), r)
	rs.states.join(e.Runnable, r)
	rs.limitWhole(e.Runnable, r, e.EndBy)
	rs.enqueue(e.Runnable, r)
	rs.scopes.opened(e.Scope)
	rs.enterRace(e.Runnable, r)
	rs.joins.closeAt(e.Component, e.Scope)
}

func (rs *runnables) dispatched(e *events.RunnableDispatched) {
	h, r := rs.h(), rs.change(e.Runnable)
	rs.disarmWake(e.Runnable, r)
	held := rs.take(r)
	rs.leave(e.Runnable, r)
	r.Permit = held.kept()
	h.Active++
	r.Status, r.Attempt, r.Decided = runActive, e.Attempt, rs.at
	r.Queue, r.Executor, r.Deadline = e.Queue, "", 0
	r.Since, r.Notified, r.Detached, r.Pool, r.Shard = rs.now, false, e.Pool != "", e.Pool, ""
	r.Told, r.Reason = 0, ""
	r.External, r.Context = e.Queue == "", rs.setup().Contexts
	r.Beside, r.Work = h.Slots > 0, e.Work
	if r.For = e.For; r.For == events.ForResult {
		r.Doubt = nil // what became of one before does not matter any more
	}
	rs.states.showAll(rs.component(r.Component), r.Scope)
	if !r.External {
		h.Slots++
	}
	rs.limitStart(e.Runnable, r, e.StartBy)
	if e.Key != "" {
		r.Key = e.Key
	}
}

// notified arms the planner's own timer of the attempt: the backstop when
// a worker runs it, the only one when somebody completes it by its token.
func (rs *runnables) notified(e *events.RunnableNotified) {
	r := rs.change(e.Runnable)
	rs.disarm(e.Runnable, r)
	rs.begun(e.Runnable, r)
	r.Executor = e.Executor
	if e.At != 0 {
		r.Told, r.Reason = cmp.Or(r.Told, e.At), cmp.Or(r.Reason, e.Channel)
	}
	if timeout := r.policy().Timeout.Milliseconds(); timeout > 0 {
		r.Deadline = rs.now + timeout
		if !r.External {
			r.Deadline += BackstopMargin
		}
		rs.tx.Put(timerKey(rs.id, r.Deadline, e.Runnable, machine.TimerTimeout), &machine.Timer{Attempt: r.Attempt})
	}
	r.Notified, r.Detached = true, r.Detached || e.Detached
	rs.alive(e.Runnable, r)
}

// leave takes a runnable out of the state it is in: out of the counts, the
// queue, its timers and its attempt.
func (rs *runnables) leave(id events.RunnableID, r *runnable) {
	h := rs.h()
	r.Alarm = 0
	switch r.Status {
	case runReady:
		h.Ready--
		rs.queue.remove(r.place(id))
	case runWaiting:
		h.Waiting--
		rs.ceaseToWait(id, r)
	case runActive:
		h.Active--
		rs.disarm(id, r)
		if !r.External {
			rs.endings = append(rs.endings, machine.Ended{Delivery: rs.deliveryOf(id, r), At: rs.now})
			rs.contexts.let(r)
			h.Slots--
		}
	case runFailed:
		h.Failed--
		if h.Halted--; h.Halted == 0 {
			h.Failure = nil
		}
	case runCancelled:
		h.Cancelled--
	case runUncertain:
		h.troubled().Uncertain--
	case runSkipped: // for good
	}
	rs.giveBack(id, r, events.NoVerdict)
}

func (rs *runnables) disarm(id events.RunnableID, r *runnable) {
	if r.Deadline != 0 {
		rs.tx.Delete(timerKey(rs.id, r.Deadline, id, machine.TimerTimeout))
		r.Deadline = 0
	}
}

// enqueue lines a runnable up for admission, if it has not to wait for its turn.
func (rs *runnables) enqueue(id events.RunnableID, r *runnable) {
	if !rs.states.hasTurn(id, r) {
		r.Status = runWaiting
		rs.h().Waiting++
		return
	}
	r.Status = runReady
	rs.h().Ready++
	rs.queue.put(r.place(id))
}

// completed folds the runnable's row into its fact.
func (rs *runnables) completed(e *events.RunnableCompleted) {
	h, row := rs.h(), *rs.get(e.Runnable) // it goes away: no copy in the Tx
	r := &row
	rs.giveBack(e.Runnable, r, events.VerdictSucceeded)
	rs.leave(e.Runnable, r)
	rs.unlimited(e.Runnable, r)
	h.Completed++
	h.Outcomes++
	h.NextFact = uint64(e.Fact)
	partial := rs.foldsOne(r)
	rs.facts.keep(e.Fact, &fact{
		Component: r.Component + 1, Scope: r.Scope, Parents: r.Parents, Depth: r.Depth, Time: rs.now, Value: e.Value,
		Runnable: e.Runnable, Attempt: r.number(), Past: r.Past, Executor: e.Executor, Started: e.Started, Finished: e.Finished,
		Partial: partial, Fell: r.Fell,
	})
	rs.tx.Delete(runnableKey(rs.id, e.Runnable))
	if !partial {
		rs.outputs.note(r.Component, e.Fact)
	}
	rs.folds.leave(e.Runnable, r, true)
	rs.states.changed(rs.component(r.Component), r.Scope, e.Fact)
	rs.ended(e.Runnable, r)
}

// foldsOne reports whether a runnable of a reduce folds one element.
func (rs *runnables) foldsOne(r *runnable) bool {
	return rs.component(r.Component).Fold != nil && r.Fanned == nil
}

func (rs *runnables) failed(id events.RunnableID, err events.TaskError, action events.Action, how ending) {
	h, r := rs.h(), rs.change(id)
	between := how == timedOutAttempt && r.Status != runActive && (r.Attempt == 0 || closedAttempt(r)) // two attempts
	rs.giveBack(id, r, verdict(r, err, how))
	rs.leave(id, r)
	h.Outcomes++
	if !between {
		r.Past = remember(r.Past, pastAttempt{
			Attempt: r.number(), Outcome: [...]string{"failed", "timed_out", "lost"}[how], Error: err, Time: rs.now, For: r.For,
		})
	}
	rs.limitsAfter(id, r, action)
	r.count(err, how)
	switch action {
	case events.ActionRetry, events.ActionFallback:
		r.Status = 0 // RetryScheduled or FallbackApplied follows
	case events.ActionHold:
		rs.hold(r)
	case events.ActionProbe:
		rs.probe(id, r)
	case events.ActionHalt:
		r.Status = runFailed
		h.Failed++
		h.Halted++
		if h.Failure == nil { // also while it drains: it has failed when it is resumed
			h.Failure = &failure{Component: r.Component, Runnable: id, Error: *r.Error}
		}
	case events.ActionSkip, events.ActionCatch:
		r.Status = runSkipped
		h.Skipped++
		rs.folds.leave(id, r, false)
		rs.ended(id, r)
		if action == events.ActionSkip && rs.traits(r).counted {
			h.badCondition(id)
		}
	}
}

// count takes note of an attempt that did not complete. One that was for something else than the
// component's own work leaves the failure that it was for.
func (r *runnable) count(err events.TaskError, how ending) {
	switch {
	case r.For != events.ForResult:
		r.For = events.ForResult
		return
	case r.Fell != 0: // what it fell back to could not be used
		return
	case how == lostAttempt:
		r.Losses++
	default:
		r.Failures++
		r.Doubt = nil
	}
	r.Error = &err
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

func (rs *runnables) returned(e *events.RunnableReturned) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	rs.handedBack(e.Runnable, r, e.Reason != neverBegan)
	if r.Shard = e.Shard; r.Shard == "" {
		r.Returns++
	}
	r.Returned = said(e)
	r.Status = 0
	rs.wait(e.Runnable, e.Due)
}

// wait makes a runnable wait for its time, or lines it up when that has come.
func (rs *runnables) wait(id events.RunnableID, due int64) {
	r := rs.change(id)
	rs.leave(id, r)
	if due <= rs.now && rs.traits(r).queued {
		rs.enqueue(id, r)
		return
	}
	r.Status, r.Due = runWaiting, due
	rs.h().Waiting++
	rs.tx.Put(timerKey(rs.id, due, id, machine.TimerWake), &machine.Timer{})
}

func (rs *runnables) fired(e *events.TimerFired) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	if e.Fact == 0 {
		rs.enqueue(e.Runnable, r)
		return
	}
	if e.Edited { // older records do not say so, and what they fold to stays
		rs.becomes(e.Fact, e.Runnable, r, r.Input)
		return
	}
	rs.becomes(e.Fact, e.Runnable, r, rs.facts.arrived(rs.component(r.Component), r.Parents))
}

// becomes folds a runnable that has waited into its fact.
func (rs *runnables) becomes(f events.FactID, id events.RunnableID, r *runnable, value json.RawMessage) {
	h := rs.h()
	h.Completed++
	h.NextFact = uint64(f)
	rs.facts.keep(f, &fact{
		Component: r.Component + 1, Scope: r.Scope, Parents: r.Parents, Depth: r.Depth, Time: rs.now,
		Value: value, Runnable: id, Started: r.Created, Finished: rs.now,
	})
	rs.tx.Delete(runnableKey(rs.id, id))
	rs.outputs.note(r.Component, f)
	rs.ended(id, r)
}

func (rs *runnables) retried(e *events.RunnableRetried) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	r.Failures, r.Losses, r.Returns, r.Returned = 0, 0, 0, ""
	r.For, r.Fell, r.Doubt = events.ForResult, 0, nil
	if len(e.Input) > 0 {
		rs.dropList(e.Runnable, r)
		r.edited(e.Input)
		rs.keepNothing(e.Runnable, r)
		r.Key = "" // it is another call
	}
	rs.limitWhole(e.Runnable, r, e.EndBy)
	rs.enqueue(e.Runnable, r)
}

func (rs *runnables) skipped(e *events.RunnableSkipped) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	rs.unlimited(e.Runnable, r)
	r.Status = runSkipped
	rs.h().Skipped++
	rs.folds.leave(e.Runnable, r, false)
	rs.ended(e.Runnable, r)
}

// cancelled closes an open attempt; one to be armed again goes back to the
// admission queue, where resume finds it.
func (rs *runnables) cancelled(e *events.RunnableCancelled) {
	if !e.Rearm {
		rs.noteClosed(e.Runnable)
		rs.folds.leave(e.Runnable, rs.get(e.Runnable), false)
		rs.closeAs(e.Runnable, runCancelled)
		rs.h().Cancelled++
		return
	}
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	rs.attemptOver(e.Runnable, r)
	r.Past = remember(r.Past, pastAttempt{
		Attempt: r.Attempt, Outcome: "cancelled", Time: rs.now, For: r.For,
		Error: events.TaskError{Type: events.ErrorCancelled, Message: "open at the drain limit"},
	})
	rs.enqueue(e.Runnable, r)
}

func (rs *runnables) closeAs(id events.RunnableID, s RunnableStatus) {
	r := rs.change(id)
	rs.leave(id, r)
	rs.unlimited(id, r)
	r.Status = s
	rs.ended(id, r)
}

// closeWithAll closes a runnable with all others of its run, whose definition may be gone.
func (rs *runnables) closeWithAll(id events.RunnableID) {
	r := rs.change(id)
	rs.leave(id, r)
	rs.unlimited(id, r)
	r.Status = runCancelled
	rs.h().Cancelled++
	rs.keepNothing(id, r)
	rs.scopes.closed(r.Scope)
	rs.leaveRace(id, r)
}

// ended notes that a runnable will never be open again.
func (rs *runnables) ended(id events.RunnableID, r *runnable) {
	rs.keepNothing(id, r)
	rs.scopes.closed(r.Scope)
	rs.leaveRace(id, r)
	rs.states.leave(id, r)
}

// delivered reports whether a worker has the runnable's attempt, or may get it.
func (r *runnable) delivered() bool { return r.Status == runActive && !r.External }

func (rs *runnables) get(id events.RunnableID) *runnable {
	return rows.Get[runnable](rs.tx, runnableKey(rs.id, id))
}

// traits are those of the kind of a runnable's component.
func (rs *runnables) traits(r *runnable) traits { return traitsOf(rs.component(r.Component)) }
