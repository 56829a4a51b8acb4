package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

var errExited = &TaskError{Type: events.ErrorPanic, Message: "the task ended its goroutine (runtime.Goexit)"}

// execute runs an attempt in the calling slot and reports its end.
func (t *Worker) execute(a *Attempt) {
	now := time.Now()
	if !t.tracker.begin(t.base, a, now) {
		return
	}
	a.pool.busy.Add(1)
	t.config.Observer.Began(a.Queue, now.Sub(time.UnixMilli(a.written)))
	var result json.RawMessage
	var err error = errExited // unless the task returns
	defer func() {
		t.conclude(a, result, err)
		a.life.leave()
		a.pool.busy.Add(-1)
	}()
	result, err = t.result(a)
}

// conclude reports the end of an attempt's time in its slot; without an outcome
// it is pending.
func (t *Worker) conclude(a *Attempt, result json.RawMessage, err error) {
	o, pending := t.outcome(a, result, err)
	now := time.Now()
	if pending {
		t.config.Observer.Ended(a.Queue, "pending", now.Sub(a.started))
		t.detach(a, now)
		return
	}
	o.Started, o.Finished = a.started.UnixMilli(), now.UnixMilli()
	t.config.Observer.Ended(a.Queue, o.Outcome.String(), now.Sub(a.started))
	t.end(a, o, now)
}

// result is what the task makes of an attempt whose context has not ended yet.
func (t *Worker) result(a *Attempt) (json.RawMessage, error) {
	if a.life.ended(a.started) {
		return nil, context.Cause(&a.life)
	}
	if a.Spec.Task == "" { // not understood; a lookup may have a handler for whatever there is
		return nil, ErrUnknownTask
	}
	h, ok := a.pool.Lookup(a.Spec.Task)
	if !ok {
		return nil, t.unknown(a)
	}
	if a.Spec.Announce {
		t.announce(a)
	}
	return t.invoke(h, a)
}

// maxStack bounds the stack that a panic's error carries.
const maxStack = 4 << 10

// invoke runs the handler; a panic is a failure of the attempt.
func (t *Worker) invoke(h Handler, a *Attempt) (result json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			stack := debug.Stack()
			t.log.Error("a task panicked", "task", a.Spec.Task, "workflow", a.Workflow, "panic", r, "stack", string(stack))
			result, err = nil, panicError(r, stack)
		}
	}()
	return t.traced(h, a)
}

func panicError(r any, stack []byte) error {
	details, err := json.Marshal(map[string]string{"stack": string(stack[:min(len(stack), maxStack)])})
	if err != nil {
		details = nil
	}
	return &TaskError{Type: events.ErrorPanic, Message: fmt.Sprint(r), Details: details}
}
