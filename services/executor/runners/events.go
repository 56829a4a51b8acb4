package runners

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// channel is how an attempt has reached its runner, as its history shows it.
const channel = "runner"

// unfinished are the types of errors by which a runner says that it has stopped an attempt for its own sake: whether there is another
// one the pool says, which the workflow hears it from. No outcome is reported.
var unfinished = map[string]bool{
	string(frames.StopGoingAway): true, // it is to stop
	string(frames.StopLost):      true, // it had no socket for too long, or did not confirm the attempt in time
	events.ErrorSleeping:         true, // it goes on at its alarm: its workflow knows, and another one would be in the way
	"replaced":                   true, // it has got another session
	"shutdown":                   true, // it is over
}

// told is what an event of a runner comes to: what the workflow of its attempt is told, if that is anything, and the pool.
type told struct {
	workflow string
	message  events.InboxMessage // nil: nothing
	event    events.RunnerEvent
}

// tellOf makes what an event comes to. Of an attempt whose token is none the pool is told that there was an event, so
// that the next one counts.
func tellOf(e *frames.Event, runner string, now time.Time) (t told, ok bool) {
	t.event = events.RunnerEvent{Index: uint64(e.Index), State: events.TaskOther}
	sealed, err := events.ParseTokenText(e.Inner.Attempt())
	if err != nil {
		return t, false
	}
	token, err := events.PeekToken(sealed)
	if err != nil {
		return t, false
	}
	t.event.Token, t.workflow = sealed, token.Workflow
	switch r := e.Inner.(type) {
	case *frames.TaskState:
		t.state(r, runner, now)
	case *frames.Heartbeat:
		details := r.Details
		if len(details) == 0 {
			details = json.RawMessage("null") // so that it counts as the task's own word
		}
		t.message = &events.TaskHeartbeat{Token: sealed, Details: details}
	case *frames.SetAlarm:
		t.message = alarm(sealed, r)
	case *frames.TaskIntent:
		t.event.State = events.TaskLeaving
		if r.Intent == frames.IntentSleep {
			t.message = &events.TaskWish{Token: sealed, Sleep: true}
		}
	}
	return t, true
}

// state takes what a runner says of what an attempt does.
func (t *told) state(r *frames.TaskState, runner string, now time.Time) {
	switch r.State {
	case frames.StateRunning:
		t.event.State = events.TaskRunning
		t.message = t.begun(runner)
	case frames.StateDetached: // its end is told by its token, and its slot is free
		t.event.State = events.TaskStopped
		t.message = t.begun(runner)
	case frames.StateStopped:
		if r.Error != nil && unfinished[r.Error.Type] {
			t.event.State = events.TaskUnfinished
			return
		}
		t.event.State = events.TaskStopped
		t.message = outcome(t.event.Token, r, runner, now)
	}
}

// alarm is when an attempt wants to go on that sleeps. One at the time 0 has passed, as any before now.
func alarm(token []byte, r *frames.SetAlarm) *events.TaskWish {
	m := &events.TaskWish{Token: token, Sets: true}
	if r.At != nil {
		m.Alarm = max(1, *r.At)
	}
	return m
}

// begun says that a runner has an attempt. No heartbeats of its executor guard it: the pool does.
func (t *told) begun(runner string) *events.TaskNotified {
	return &events.TaskNotified{Token: t.event.Token, Channel: channel, Executor: runner, Detached: true}
}

// outcome is how an attempt has ended.
func outcome(token []byte, r *frames.TaskState, runner string, now time.Time) *events.TaskOutcome {
	o := &events.TaskOutcome{Token: token, Executor: runner, Finished: now.UnixMilli()}
	if r.Error == nil {
		o.Outcome, o.Result = events.OutcomeCompleted, r.Result
		if len(o.Result) == 0 {
			o.Result = json.RawMessage("null")
		}
		return o
	}
	e := events.TaskError{
		Type: cmp.Or(r.Error.Type, events.ErrorTaskFailed), Message: r.Error.Message, NonRetryable: r.Error.NonRetryable,
		RetryAfterMs: r.Error.RetryAfter, Details: r.Error.Details,
	}.Bounded()
	o.Error = &e
	switch e.Type {
	case events.ErrorTimeout, string(frames.StopTimedOut):
		o.Outcome = events.OutcomeTimedOut
	case events.ErrorCancelled:
		o.Outcome = events.OutcomeCancelled
	case events.ErrorUnknownTask:
		o.Outcome = events.OutcomeUnknownTask
	default:
		o.Outcome = events.OutcomeFailed
	}
	return o
}
