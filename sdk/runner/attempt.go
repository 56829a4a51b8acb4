package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/spelling"

	core "github.com/heddle-run/heddle/internal/runner"
)

// attempt is one that was started, and has not ended.
type attempt struct {
	loop   *loop
	task   *frames.StartTask
	cancel context.CancelCauseFunc
	leave  chan struct{} // closed when the runner is going away
	site   *site         // what serves requests to it; nil: nothing does yet
}

// StoppedError is the cause of the context of an attempt that is to stop.
type StoppedError struct {
	Reason string // cancelled, timed_out, going_away (the runner drains), lost, replaced, shutdown
}

// Error implements error.
func (e *StoppedError) Error() string { return "the attempt is to stop: " + e.Reason }

var errTimeout = &StoppedError{string(frames.StopTimedOut)}

// start begins an attempt in a goroutine of its own.
func (l *loop) start(t *frames.StartTask) {
	a := &attempt{loop: l, task: t, leave: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	l.attempts[t.Token] = a
	l.group.Go(func() {
		defer cancel(nil)
		ctx, release := a.bounded(ctx)
		defer release()
		end, wishes := a.run(ctx)
		l.post(func() { l.ended(end, wishes) })
	})
}

// bounded is ctx until the attempt's time is over.
func (a *attempt) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	var at time.Time
	if a.task.Deadline > 0 {
		at = time.UnixMilli(a.task.Deadline)
	}
	if a.task.Timeout > 0 {
		end := time.Now().Add(time.Duration(min(a.task.Timeout, events.MaxMilliseconds)) * time.Millisecond)
		if at.IsZero() || end.Before(at) {
			at = end
		}
	}
	if at.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, at, errTimeout)
}

func (l *loop) ended(end *frames.TaskState, wishes []frames.Report) {
	if a := l.attempts[end.Token]; a.site != nil {
		go a.site.close()
	}
	delete(l.attempts, end.Token)
	for _, w := range wishes {
		l.session.Ask(time.Now(), w)
	}
	l.session.Ended(time.Now(), end)
}

// halt ends the context of an attempt.
func (l *loop) halt(h core.Halt) {
	if a := l.attempts[h.Token]; a != nil {
		a.cancel(&StoppedError{string(h.Reason)})
	}
}

// leaving tells an attempt that the runner is going away, once.
func (l *loop) leaving(token string) {
	if a := l.attempts[token]; a != nil {
		close(a.leave)
	}
}

// Leaving is closed when the runner of the attempt whose function has the context is going away: it stops, or an
// operator has stopped it. The function may go on, and its context ends before the time is over that attempts have
// then (Times.Drain); one that takes longer should end early, and have said by heartbeats or keys where to go on.
// Elsewhere it is nil.
func Leaving(ctx context.Context) <-chan struct{} {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a.leave
	}
	return nil
}

var errExited = &task.Error{Type: events.ErrorPanic, Message: "the task ended its goroutine (runtime.Goexit)"}

// run is the attempt's end, and what is said before that. The function runs in a goroutine of its own, which it may end.
func (a *attempt) run(ctx context.Context) (end *frames.TaskState, wishes []frames.Report) {
	var result json.RawMessage
	err := error(errExited)
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = a.call(ctx)
	}()
	<-done
	if sleep, sleeps := errors.AsType[*sleepError](err); sleeps {
		return a.sleep(sleep)
	}
	return a.end(ctx, result, err), nil
}

// maxStack bounds the stack that a panic's error carries.
const maxStack = 4 << 10

func (a *attempt) call(ctx context.Context) (result json.RawMessage, err error) {
	h := a.loop.runner.handlers[a.task.Task]
	if h == nil {
		return nil, a.unknown()
	}
	defer func() {
		if r := recover(); r != nil {
			stack := string(debug.Stack())
			a.loop.log.Error("a task panicked", "task", a.task.Task, "workflow", a.task.Workflow, "panic", r, "stack", stack)
			result, err = nil, &task.Error{Type: events.ErrorPanic, Message: fmt.Sprint(r), Details: map[string]string{"stack": stack[:min(len(stack), maxStack)]}}
		}
	}()
	input := a.task.Input
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	return h(context.WithValue(task.WithSource(ctx, a), attemptKey{}, a), input)
}

func (a *attempt) unknown() error {
	message := fmt.Sprintf("%s does not know %s", a.loop.options.Name, a.task.Task)
	var known []string
	for name := range a.loop.runner.handlers { // order: the nearest is the same
		known = append(known, name)
	}
	if nearest := spelling.Nearest(a.task.Task, known); nearest != "" {
		message += "; nearest: " + nearest
	}
	return &task.Error{Type: events.ErrorUnknownTask, Message: message}
}

// end is how the attempt has ended.
func (a *attempt) end(ctx context.Context, result json.RawMessage, err error) *frames.TaskState {
	end := &frames.TaskState{Token: a.task.Token, State: frames.StateStopped}
	switch {
	case err == nil && len(result) == 0:
		end.OK, end.Result = true, json.RawMessage("null")
	case err == nil && json.Valid(result):
		end.OK, end.Result = true, result
	case err == nil:
		end.Error = asFrame(events.TaskError{Type: events.ErrorInvalidResult, Message: "the result is no JSON", NonRetryable: true})
	case errors.Is(err, task.ErrPending):
		end.State = frames.StateDetached
	default:
		end.Error = asFrame(failure(ctx, err))
	}
	return end
}

// failure says why an attempt has failed. What its function says itself stands, except against a cancellation.
func failure(ctx context.Context, err error) events.TaskError {
	e := events.TaskError{Type: events.ErrorTaskFailed, Message: err.Error()}
	stopped, halted := errors.AsType[*StoppedError](context.Cause(ctx))
	own, said := errors.AsType[interface {
		error
		TaskError() events.TaskError
	}](err)
	switch {
	case halted && (!said || stopped.Reason == string(frames.StopCancelled)):
		e.Type = stopped.Reason
		if stopped.Reason == string(frames.StopTimedOut) {
			e.Type = events.ErrorTimeout
		}
	case said:
		e = own.TaskError()
	}
	return e.Bounded()
}

func asFrame(e events.TaskError) *frames.TaskError {
	return &frames.TaskError{Type: e.Type, Message: e.Message, NonRetryable: e.NonRetryable, RetryAfter: e.RetryAfterMs, Details: e.Details}
}

// TaskAttempt implements task.Source.
func (a *attempt) TaskAttempt() *task.Attempt {
	sealed, err := events.ParseTokenText(a.task.Token)
	if err != nil { // a server that names attempts in another way: nobody can complete this one by its token
		a.loop.log.Warn("the token of an attempt is none", "error", err)
	}
	return &task.Attempt{
		Sealed: sealed, Workflow: a.task.Workflow, Task: a.task.Task, Component: a.task.Component,
		Number: int(a.task.Attempt), IdempotencyKey: a.task.IdempotencyKey, TraceParent: a.task.TraceParent,
		Context: a.task.Context, LastHeartbeat: a.task.Heartbeat, Logger: a.loop.log, Heartbeat: a.beat,
	}
}

var errEnded = errors.New("the attempt has ended")

// beat keeps details for the next attempt.
func (a *attempt) beat(details json.RawMessage) error {
	if len(details) > events.MaxDetails {
		return fmt.Errorf("heartbeat details have %d bytes, the limit is %d", len(details), events.MaxDetails)
	}
	if !a.loop.post(func() { a.loop.session.Beat(time.Now(), a.task.Token, details) }) {
		return errEnded
	}
	return nil
}
