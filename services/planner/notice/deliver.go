package notice

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
)

// How a notice is delivered.
const (
	CallTimeout = 10 * time.Second // of one call
	GiveUpAfter = 24 * time.Hour   // since it came: a failure behind that is the last

	gapWait     = time.Minute      // for a notice that another one has overtaken
	confirmWait = 10 * time.Minute // for the word of a workflow that may be deleted
)

// retries space the attempts of a notice.
var retries = policy.Policy{Backoff: policy.Exponential, BaseDelay: time.Second, MaxDelay: 15 * time.Minute}

func (t *turn) inbox(in machine.Input) {
	switch m := in.Inbox.(type) {
	case *events.EntityMessage:
		if m.From != t.workflow {
			return // nobody else has anything to tell
		}
		if n, ok := said(m); ok && n.Drain > 0 {
			t.take(n, in)
		} else if ok {
			t.confirmed(n)
		}
	case *events.TaskOutcome:
		t.outcome(m)
	case *events.TaskNotified:
		if drain, a := t.named(m.Token); a != nil && !a.Notified {
			t.emit(&events.RunnableNotified{Runnable: drain, Channel: events.Cut(m.Channel, events.MaxChannel), Executor: events.Cut(m.Executor, events.MaxExecutor), At: t.now})
		}
	case *events.TaskWish: // a call has none
	case *events.TaskHeartbeat: // it says that the call goes on, and keeps it
	}
}

// take takes a notice. That it comes for the first time its partition knows, for as long as it
// remembers: one that was passed over while it was on its way is delivered all the same.
func (t *turn) take(n *events.Notice, in machine.Input) {
	if t.head != nil && (in.Late && n.Drain < t.head.Next || t.notice(n.Drain) != nil) {
		return
	}
	if in.Limit > 0 {
		n.Body = t.lesser(n)
	}
	t.emit(&events.NoticeAccepted{Notice: *n})
}

// confirmed ends the entity if nothing is left, and nothing is on its way.
func (t *turn) confirmed(n *events.Notice) {
	if h := t.head; h != nil && h.Held == 0 && h.Next > n.Drains {
		t.emit(&events.NoticesOver{Through: n.Drains, Gone: true})
	}
}

// named finds the open attempt that a sealed token names; nil: it is closed, or nobody's.
func (t *turn) named(sealed []byte) (events.RunnableID, *machine.Attempt) {
	token, err := t.m.sealer.Open(sealed)
	if err != nil || token.Workflow != t.id {
		return 0, nil
	}
	a := t.open(token.Runnable)
	if a == nil || a.Attempt != token.Attempt || a.Decided != token.Decided {
		return 0, nil
	}
	return token.Runnable, a
}

func (t *turn) outcome(m *events.TaskOutcome) {
	drain, a := t.named(m.Token)
	if a == nil {
		return
	}
	executor := events.Cut(m.Executor, events.MaxExecutor)
	switch m.Outcome {
	case events.OutcomeCompleted:
		t.emit(&events.RunnableCompleted{Runnable: drain, Executor: executor, Started: m.Started, Finished: m.Finished})
	case events.OutcomeTimedOut:
		err := events.TaskError{Type: events.ErrorTimeout, Message: "the receiver has not answered in time"}
		t.emit(&events.RunnableTimedOut{Runnable: drain, Error: err, Action: t.action(drain, &err)})
		t.again(drain, &err)
	case events.OutcomeUnknownTask, events.OutcomeAbandoned:
		reason := "its executor gave it back"
		t.emit(&events.RunnableReturned{Runnable: drain, Due: t.now + retries.BaseDelay.Milliseconds(), Reason: reason})
	default:
		err := events.TaskError{Type: events.ErrorTaskFailed, Message: "the call failed"}
		if m.Error != nil {
			err = *m.Error
			err.Details = nil // what the receiver said is no part of a workflow
			err = err.Bounded()
		}
		t.emit(&events.RunnableFailed{Runnable: drain, Error: err, Action: t.action(drain, &err), Executor: executor})
		t.again(drain, &err)
	}
}

func (t *turn) lost(l *machine.Lost) {
	a := t.open(l.Runnable)
	if a == nil || a.Attempt != l.Attempt || l.Moved || l.Unsure { // no pool calls a receiver
		return
	}
	err := events.TaskError{Type: events.ErrorLost, Message: l.Reason}
	t.emit(&events.RunnableLost{Runnable: l.Runnable, Error: err, Action: t.action(l.Runnable, &err)})
	t.again(l.Runnable, &err)
}

// action is what follows from a failed attempt.
func (t *turn) action(drain events.RunnableID, err *events.TaskError) events.Action {
	if n := t.notice(uint64(drain)); err.NonRetryable || n == nil || t.now-n.Accepted >= GiveUpAfter.Milliseconds() {
		return events.ActionSkip
	}
	return events.ActionRetry
}

// again schedules the next attempt of a notice, unless it is over.
func (t *turn) again(drain events.RunnableID, err *events.TaskError) {
	if t.notice(uint64(drain)) == nil {
		return
	}
	wait := max(retries.Delay(int(t.head.Failures), 0).Milliseconds(), min(err.RetryAfterMs, retries.MaxDelay.Milliseconds()))
	t.emit(&events.RetryScheduled{Runnable: drain, Due: t.now + wait})
}

// timer ends a wait.
func (t *turn) timer(k rows.Key) {
	if t.head == nil || rows.Get[machine.Timer](t.tx, k) == nil {
		return
	}
	switch t.head.Wait {
	case forRetry:
		t.emit(&events.TimerFired{Runnable: events.RunnableID(t.first())})
	case forGap:
		t.emit(&events.TimerFired{})
		t.emit(&events.NoticesOver{Through: t.first() - 1})
	case forConfirmation:
		t.emit(&events.NoticesOver{Through: t.head.Next - 1, Gone: true})
	}
}

// admit begins the next attempt, if nothing else is waited for.
func (t *turn) admit() {
	h := t.head
	if h == nil || h.Open || h.Wait == forRetry {
		return
	}
	first := t.first()
	if first > h.Next {
		return
	}
	attempt := uint32(1)
	if h.Current == first {
		attempt = h.Attempts + 1
	}
	t.emit(&events.RunnableDispatched{Runnable: events.RunnableID(first), Attempt: attempt, Queue: Queue})
}

// waits is what the entity waits for by a timer, and how long if that begins now.
func (t *turn) waits() (waiting, time.Duration) {
	switch h := t.head; {
	case h.Open:
		return 0, 0
	case h.Wait == forRetry:
		return forRetry, 0
	case h.Held == 0:
		return forConfirmation, confirmWait
	case t.first() > h.Next:
		return forGap, gapWait
	}
	return 0, 0
}
