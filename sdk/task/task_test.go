package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

func TestATaskComesFromTheQueueOfItsName(t *testing.T) {
	for name, want := range map[string]string{
		"orders.price": "orders", "orders.eu.price": "orders", "greet": "default", "http.request": "default", "test.echo": "default",
	} {
		if got := task.Define[any, any](name).Queue(); got != want {
			t.Errorf("%s: queue %q, want %q", name, got, want)
		}
	}
	if got := task.Define[any, any]("orders.render").OnQueue("gpu").Queue(); got != "gpu" {
		t.Errorf("a task on a queue of its own: %q", got)
	}
}

func TestDefinePanicsOnANameThatNoTaskHas(t *testing.T) {
	for _, name := range []string{"", ".x", "a b", "ü"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the name %q was taken", name)
				}
			}()
			task.Define[any, any](name)
		}()
	}
}

func TestHeartbeatIsForTheNextAttempt(t *testing.T) {
	var sent json.RawMessage
	ctx, cancel := context.WithCancelCause(t.Context())
	ctx = task.WithAttempt(ctx, &task.Attempt{
		LastHeartbeat: json.RawMessage(`{"done": 3}`),
		Heartbeat:     func(details json.RawMessage) error { sent = details; return nil },
	})
	type progress struct{ Done int }
	if p, ok := task.LastHeartbeat[progress](ctx); !ok || p.Done != 3 {
		t.Errorf("the last heartbeat is %v, %v", p, ok)
	}
	if _, ok := task.LastHeartbeat[string](ctx); ok {
		t.Error("an object came as a string")
	}
	if err := task.Heartbeat(ctx, progress{4}); err != nil || string(sent) != `{"Done":4}` {
		t.Errorf("sent %s, %v", sent, err)
	}
	if err := task.Heartbeat(ctx, func() {}); err == nil {
		t.Error("a function was sent as details")
	}
	stop := errors.New("stop")
	cancel(stop)
	if err := task.Heartbeat(ctx, progress{5}); !errors.Is(err, stop) {
		t.Errorf("after the end: %v, want its cause", err)
	}
}

func TestAFunctionRunsWithoutAnAttempt(t *testing.T) {
	ctx := t.Context()
	if task.Token(ctx) != "" || task.WorkflowID(ctx) != "" || task.Number(ctx) != 0 || task.IdempotencyKey(ctx) != "" {
		t.Error("no attempt tells of one")
	}
	if err := task.Heartbeat(ctx, 1); err != nil {
		t.Error(err)
	}
	if _, ok := task.Value[string](ctx, "tenant"); ok {
		t.Error("no attempt has context values")
	}
	task.Logger(ctx).Info("silent")
}

func TestTheContextOfAnAttemptIsItsFunctionsOwn(t *testing.T) {
	type key struct{}
	a := &task.Attempt{Workflow: "w", Number: 2}
	ctx := task.WithAttempt(context.WithValue(t.Context(), key{}, "base"), a)
	a.Workflow = "another"
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	for name, ctx := range map[string]context.Context{"context": ctx, "child": child} {
		if task.WorkflowID(ctx) != "w" || task.Number(ctx) != 2 || ctx.Value(key{}) != "base" {
			t.Errorf("%s: workflow %q, number %d, value %v", name, task.WorkflowID(ctx), task.Number(ctx), ctx.Value(key{}))
		}
	}
	inner := task.WithAttempt(child, &task.Attempt{Workflow: "inner"})
	if task.WorkflowID(inner) != "inner" || task.WorkflowID(child) != "w" {
		t.Errorf("an attempt inside another one: %q, %q", task.WorkflowID(inner), task.WorkflowID(child))
	}
}

// counted is a Source that counts how often it was asked.
type counted struct{ asked int }

func (s *counted) TaskAttempt() *task.Attempt {
	s.asked++
	return &task.Attempt{Workflow: "w", Number: s.asked}
}

func TestASourceIsAskedOnceAndOnlyIfTheFunctionAsks(t *testing.T) {
	var s counted
	ctx := task.WithSource(t.Context(), &s)
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.asked != 0 {
		t.Error("the source was asked though nobody wants to know")
	}
	if task.Number(child) != 1 || task.WorkflowID(ctx) != "w" || task.Number(ctx) != 1 || s.asked != 1 {
		t.Errorf("asked %d times, number %d", s.asked, task.Number(ctx))
	}
}

func TestAnErrorSaysMore(t *testing.T) {
	cause := errors.New("card declined")
	err := fmt.Errorf("charging: %w", &task.Error{Type: "payment", Err: cause, RetryAfter: time.Minute, Details: func() {}})
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	var f interface{ TaskError() events.TaskError }
	if !errors.As(err, &f) {
		t.Fatal("a wrapped failure is none")
	}
	if e := f.TaskError(); e.Type != "payment" || e.RetryAfterMs != 60_000 || e.Details != nil || e.Message == cause.Error() {
		t.Errorf("got %+v, want the failure and why it has no details", e)
	}
	if err := (&task.Error{Type: "bare"}); err.Error() != "bare" {
		t.Errorf("without a cause: %q", err)
	}
	if err := (&task.Error{Err: cause}); err.Error() != "error: card declined" || err.TaskError().Type != "error" {
		t.Errorf("without a type: %q", err)
	}
}
