package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/jsonplace"
	"github.com/heddle-run/heddle/shared/policy"
)

// open finds the open attempt that a sealed token names. Everything else is
// stale: a token of another run, of a closed attempt, of nobody.
func (rs *runnables) open(sealed []byte) (events.RunnableID, *runnable) {
	token, err := rs.p.sealer.Open(sealed)
	if err != nil || rs.head == nil || token.Workflow != rs.id || token.Run != rs.head.Run {
		return 0, nil
	}
	r := rs.get(token.Runnable)
	if r == nil || r.Status != runActive || r.Attempt != token.Attempt || r.Decided != token.Decided {
		return 0, nil
	}
	return token.Runnable, r
}

// named is open of a token as a text.
func (rs *runnables) named(token string) (events.RunnableID, *runnable) {
	sealed, err := events.ParseTokenText(token)
	if err != nil {
		return 0, nil
	}
	return rs.open(sealed)
}

// outcome applies the end of an open attempt; stale ones change nothing.
func (en *ends) outcome(m *events.TaskOutcome) {
	id, r := en.runs.open(m.Token)
	if r == nil {
		if id, r = en.doubted(m.Token); r != nil {
			en.late(id, m)
		}
		return
	}
	if en.head.Status.winding() { // its worker need not be told any more
		en.emit(&events.RunnableCancelled{Runnable: id, Idle: true})
		return
	}
	en.end(id, r, m)
}

// end applies the end of an attempt of a run that goes on.
func (en *ends) end(id events.RunnableID, r *runnable, m *events.TaskOutcome) {
	switch m.Outcome {
	case events.OutcomeCompleted:
		en.complete(id, r, m)
	case events.OutcomeTimedOut:
		en.timedOut(id, r)
	case events.OutcomeUnknownTask:
		en.unknownTask(id, r, m)
	case events.OutcomeAbandoned:
		en.abandoned(id, r, m)
	case events.OutcomeCancelled:
		en.failFor(id, events.TaskError{Type: events.ErrorCancelled, Message: "the worker cancelled the attempt"}, m.Executor, failedAttempt)
	default:
		err := events.TaskError{Type: events.ErrorTaskFailed, Message: "the attempt failed"}
		if m.Error != nil {
			err = *m.Error
			err.Details = asJSON(err.Details)
			err = err.Bounded() // not every worker is ours
		}
		en.failFor(id, err, m.Executor, failedAttempt)
	}
}

// abandoned takes back an attempt that its worker gave up: one that had not
// begun counts for nothing, of one that had the outcome is unknown.
func (en *ends) abandoned(id events.RunnableID, r *runnable, m *events.TaskOutcome) {
	if m.Started != 0 {
		en.failFor(id, events.TaskError{
			Type: events.ErrorLost, Message: "its worker gave it up while it ran; whether it had effects is unknown",
		}, m.Executor, lostAttempt)
		return
	}
	en.emit(&events.RunnableReturned{Runnable: id, Due: en.now, Reason: neverBegan})
	en.queue.fresh = append(en.queue.fresh, r.place(id))
}

// asJSON is a value from outside that ought to be JSON: what is not becomes a
// string, so that nobody who prints it fails.
func asJSON(b json.RawMessage) json.RawMessage {
	if at, _ := jsonplace.NotUTF8(b); at < 0 && (len(b) == 0 || json.Valid(b)) {
		return b
	}
	return mustJSON(string(b))
}

// notJSON says what is wrong with a value from outside; empty: nothing.
func notJSON(value json.RawMessage) string {
	if at, path := jsonplace.NotUTF8(value); at >= 0 {
		return fmt.Sprintf(": byte %d, at %q, is no UTF-8", at, path)
	}
	if !json.Valid(value) {
		return "; its syntax is wrong"
	}
	return ""
}

// complete closes the attempt with its result, whose fact travels on.
func (en *ends) complete(id events.RunnableID, r *runnable, m *events.TaskOutcome) {
	value := m.Result
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	if why := notJSON(value); why != "" {
		en.failFor(id, events.TaskError{Type: events.ErrorInvalidResult, Message: "the result is not JSON" + why, NonRetryable: true}, m.Executor, failedAttempt)
		return
	}
	if r.For == events.ForProbe {
		en.answer(id, value, m)
		return
	}
	en.completeWith(id, r, value, m)
}

// completeWith closes a runnable with its result.
func (en *ends) completeWith(id events.RunnableID, r *runnable, value json.RawMessage, m *events.TaskOutcome) {
	c, s := en.component(r.Component), r.Scope
	if c.Fold != nil {
		en.completeFold(id, value, m)
		return
	}
	f := en.nextFact()
	en.emit(&events.RunnableCompleted{
		Runnable: id, Fact: f, Value: value, Executor: m.Executor, Started: m.Started, Finished: m.Finished,
	})
	en.flow.yield(c, s, f)
}

// how an attempt ended without completing.
type ending uint8

const (
	failedAttempt ending = iota
	timedOutAttempt
	lostAttempt
)

// failFor closes an attempt that did not complete: another one by policy, else its fallback, else
// the policy's reaction. What a fallback was to save fails as it has failed before that.
func (en *ends) failFor(id events.RunnableID, err events.TaskError, executor string, how ending) {
	before := *en.runs.get(id) // the row itself changes with the event
	r := &before
	pol := r.policy()
	action := reaction(r, pol, err, how)
	wrong := false // nobody knows whether it would have been tried again
	if action == events.ActionRetry && how != lostAttempt {
		var again bool
		if again, wrong = en.retryable(id, r, pol, &err); !again {
			action = givenUp(pol)
		}
	}
	told := err // of the attempt
	if r.Fell != 0 {
		err = *r.Error
	}
	var fall falling
	var caught catching
	if action == events.ActionSkip || action == events.ActionHalt {
		if !wrong {
			fall = en.falls(id, r, pol, &err)
		}
		if fall.form != 0 {
			action = events.ActionFallback
		} else if caught = en.catch(id, r, &err); len(caught.by) > 0 {
			action = events.ActionCatch
		}
	}
	if r.Fell == 0 {
		told = err
	}
	tolerated := events.ScopeID(0)
	if action == events.ActionHalt {
		if tolerated = en.tolerates(r.Scope); tolerated != 0 {
			action = events.ActionSkip
		}
	}
	owner := en.foldOwner(id)
	switch how {
	case timedOutAttempt:
		e := &events.RunnableTimedOut{Runnable: id, Error: told, Action: action, Idle: r.Status != runActive}
		if r.delivered() {
			e.Attempt, e.Decided, e.Work = r.Attempt, r.Decided, r.Work
		}
		en.emit(e)
	case lostAttempt:
		en.emit(&events.RunnableLost{Runnable: id, Error: told, Action: action})
	default:
		en.emit(&events.RunnableFailed{Runnable: id, Error: told, Action: action, Executor: executor})
	}
	switch action {
	case events.ActionRetry:
		en.retryLater(id, r, pol, err, how)
	case events.ActionFallback:
		en.fallBack(id, fall, err)
	case events.ActionProbe:
		en.queue.fresh = append(en.queue.fresh, r.place(id))
	case events.ActionSkip:
		en.markFailed(r.Scope, tolerated, err)
		en.foldGivenUp(r, owner)
		en.flow.dieFrom(en.component(r.Component), r.Scope, suppressed)
	case events.ActionCatch:
		en.foldGivenUp(r, owner)
		en.flow.caught(id, r, caught)
	case events.ActionHalt:
		en.halt(id, r.Component, err)
	case events.ActionHold: // it is uncertain, and nothing follows until somebody decides
	}
}

func reaction(r *runnable, pol policy.Policy, err events.TaskError, how ending) events.Action {
	again := r.For == events.ForResult && r.Fell == 0 // it is the component's own work that has failed
	switch {
	case r.For == events.ForProbe:
		return events.ActionHold
	case again && how == lostAttempt && pol.OnLost == policy.HoldLost:
		return events.ActionHold
	case again && how == lostAttempt && pol.OnLost == policy.ProbeLost:
		return events.ActionProbe
	case again && how == lostAttempt && pol.OnLost == policy.RetryLost && int(r.Losses) < pol.MaxLost:
		return events.ActionRetry
	case again && how != lostAttempt && !err.NonRetryable && int(r.Failures) < pol.MaxRetries:
		return events.ActionRetry
	}
	return givenUp(pol)
}

// givenUp is what follows from a failure for good.
func givenUp(pol policy.Policy) events.Action {
	if pol.OnFailure == policy.Skip {
		return events.ActionSkip
	}
	return events.ActionHalt
}

// retryLater arms the durable timer of the next attempt. A lost one is replaced
// at once.
func (en *ends) retryLater(id events.RunnableID, r *runnable, pol policy.Policy, err events.TaskError, how ending) {
	if how == lostAttempt {
		en.emit(&events.RetryScheduled{Runnable: id, Due: en.now})
		en.queue.fresh = append(en.queue.fresh, r.place(id))
		return
	}
	delay := pol.Delay(int(r.Failures)+1, en.seed(id)).Milliseconds()
	due := en.now + max(delay, err.RetryAfterMs)
	en.emit(&events.RetryScheduled{Runnable: id, Due: due})
	if due <= en.now {
		en.queue.fresh = append(en.queue.fresh, r.place(id))
	}
}

// seed makes jitter differ between runnables and attempts, and equal in every
// replay of the decision.
func (en *ends) seed(id events.RunnableID) uint64 {
	return en.at.Epoch<<48 ^ en.at.Seq<<16 ^ uint64(id)
}

func (en *ends) halt(id events.RunnableID, component uint32, err events.TaskError) {
	if en.head.Status == Running || en.head.Status == Paused || en.head.Status == Idle {
		en.emit(&events.WorkflowFailed{Component: component, Runnable: id, Error: err})
	}
}

func (en *ends) timedOut(id events.RunnableID, r *runnable) {
	timeout := r.policy().Timeout
	en.failFor(id, events.TaskError{
		Type:    events.ErrorTimeout,
		Message: fmt.Sprintf("the attempt took longer than %s; whether it had effects is unknown", timeout),
	}, "", timedOutAttempt)
}

// Why an attempt was handed back, where its worker has not said more.
const (
	neverBegan = "abandoned before it began"
	nobodyKnew = "no worker knew the task"
)

// said is what a worker said as it handed an attempt back; empty: nothing.
func said(e *events.RunnableReturned) string {
	if e.Reason == neverBegan || e.Reason == nobodyKnew {
		return ""
	}
	return e.Reason
}

// unknownTask hands the attempt back without counting it, until start_timeout: the wait for a
// worker goes on.
func (en *ends) unknownTask(id events.RunnableID, r *runnable, m *events.TaskOutcome) {
	reason := nobodyKnew
	if m.Error != nil && m.Error.Message != "" {
		reason = events.Cut(m.Error.Message, events.MaxSummaryText)
	}
	if limit := r.limit().Start; limit != 0 && en.now >= limit {
		en.notBegun(id, r, true, reason)
		return
	}
	due := en.now + policy.UnknownTaskDelay(int(r.Returns)+1).Milliseconds()
	en.emit(&events.RunnableReturned{Runnable: id, Due: due, Reason: reason})
}
