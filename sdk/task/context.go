package task

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/heddle-run/heddle/shared/events"
)

// Attempt is what a task's function can learn of its attempt. A test that runs the
// function gives it (WithAttempt); the function asks through the context.
type Attempt struct {
	Sealed         []byte // the token
	Workflow       string
	Task           string
	Component      string
	Number         int // from 1
	IdempotencyKey string
	TraceParent    string
	Context        json.RawMessage // an object, or empty
	LastHeartbeat  json.RawMessage // of an earlier attempt, or empty
	Logger         *slog.Logger    // nil: silent
	Heartbeat      func(details json.RawMessage) error
}

type contextKey struct{}

// WithAttempt is the context of a function that runs for an attempt, which is
// copied: for a test of a task's function.
func WithAttempt(ctx context.Context, a *Attempt) context.Context {
	own, c := *a, &attemptContext{Context: ctx}
	c.known.Store(&own)
	return c
}

// Source tells of an attempt. It may be asked more than once, from several
// goroutines, and makes a new Attempt each time.
type Source interface {
	TaskAttempt() *Attempt
}

// WithSource is the context of a function that runs for the attempt that s tells
// of, should the function ask: workers call it.
func WithSource(ctx context.Context, s Source) context.Context {
	return &attemptContext{Context: ctx, source: s}
}

// attemptContext is a context with an attempt as the value of contextKey. Most
// functions do not ask for theirs.
type attemptContext struct {
	context.Context
	source Source
	known  atomic.Pointer[Attempt] // nil: nobody has asked
}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	if key != (contextKey{}) {
		return c.Context.Value(key)
	}
	if c.known.Load() == nil {
		c.known.CompareAndSwap(nil, c.source.TaskAttempt())
	}
	return c.known.Load()
}

// nowhere is the attempt of a function that runs for none, as in its unit test.
var nowhere = &Attempt{}

func of(ctx context.Context) *Attempt {
	if a, ok := ctx.Value(contextKey{}).(*Attempt); ok {
		return a
	}
	return nowhere
}

// Token is the attempt's token, one URL-safe string: with it anybody can
// complete, fail or heartbeat the attempt through the API.
func Token(ctx context.Context) string {
	a := of(ctx)
	if len(a.Sealed) == 0 {
		return ""
	}
	return events.TokenText(a.Sealed)
}

// WorkflowID is the workflow that the attempt belongs to.
func WorkflowID(ctx context.Context) string { return of(ctx).Workflow }

// Component is the component of the workflow that the attempt is for.
func Component(ctx context.Context) string { return of(ctx).Component }

// Number counts the attempts of the runnable, from 1.
func Number(ctx context.Context) int { return of(ctx).Number }

// IdempotencyKey is equal for all attempts of the runnable: hand it to systems
// that drop repetitions.
func IdempotencyKey(ctx context.Context) string { return of(ctx).IdempotencyKey }

// TraceParent is the W3C trace context of the attempt, or empty.
func TraceParent(ctx context.Context) string { return of(ctx).TraceParent }

// Value decodes one of the context values that came with the workflow, its
// input or its definition; false when there is none of that name and type.
func Value[T any](ctx context.Context, name string) (T, bool) {
	var v T
	var values map[string]json.RawMessage
	raw := of(ctx).Context
	if len(raw) == 0 || json.Unmarshal(raw, &values) != nil {
		return v, false
	}
	one, ok := values[name]
	if !ok || json.Unmarshal(one, &v) != nil {
		var zero T
		return zero, false
	}
	return v, true
}

// Heartbeat keeps details for the next attempt, should this one fail or get
// lost, and returns the cause when this one is to stop. That the worker is alive is
// reported without it; a policy with heartbeat_timeout wants to hear of the task itself, and then
// details may be nil. They are JSON of at most 64 KiB; the newest are sent about once a second, or
// thrice in the time that the policy gives if that is more often.
func Heartbeat(ctx context.Context, details any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	raw, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("heartbeat details: %w", err)
	}
	if beat := of(ctx).Heartbeat; beat != nil {
		return beat(raw)
	}
	return nil
}

// LastHeartbeat is the details that an earlier attempt gave last; false when
// none did, or they are no T.
func LastHeartbeat[T any](ctx context.Context) (T, bool) {
	var v T
	raw := of(ctx).LastHeartbeat
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero, false
	}
	return v, true
}

// Logger is the worker's logger with the attempt's workflow, task and number.
func Logger(ctx context.Context) *slog.Logger {
	a := of(ctx)
	if a.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Logger.With("workflow", a.Workflow, "component", a.Component, "task", a.Task, "attempt", a.Number)
}
