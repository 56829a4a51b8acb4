package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"github.com/heddle-run/heddle/internal/adapter"
	core "github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

// Handle makes w run fn for the attempts of t. It is for the time before Run;
// registering a task twice, or later, is an error of Run. fn is called from
// many goroutines at once; a panic fails the attempt, not the program.
func Handle[I, O any](w *Worker, t task.Task[I, O], fn func(context.Context, I) (O, error)) {
	f := function[I, O]{fn, decoder[I](), encoder[O]()}
	run := Handler(f.run)
	for _, i := range slices.Backward(w.options.Interceptors) {
		run = i(run)
	}
	w.register(t.Name(), t.Queue(), &handler{run, w.options.Logger})
}

// Handler runs an attempt: JSON in, JSON out. Its context is that of a task's function,
// which package task tells more of.
type Handler func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)

// Interceptor puts something around the functions of a worker's tasks, as logging,
// tracing and metrics do: what it returns calls next. It is called once for each task,
// by Handle; what it returns is called from many goroutines. What it panics with fails
// the attempt.
type Interceptor func(next Handler) Handler

// handler runs the attempts of one task.
type handler struct {
	run Handler
	log *slog.Logger
}

// Run implements core.Handler.
func (h *handler) Run(ctx context.Context, a *core.Attempt) (json.RawMessage, error) {
	input := a.Spec.Input
	if len(input) == 0 {
		input = json.RawMessage("null") // a fresh one: the function owns it
	}
	out, err := h.run(task.WithSource(ctx, &adapter.Source{Attempt: a, Log: h.log}), input)
	if errors.Is(err, task.ErrPending) {
		return nil, core.ErrPending
	}
	return out, err
}

// function is a task's function with its types.
type function[I, O any] struct {
	fn     func(context.Context, I) (O, error)
	decode func(json.RawMessage) (I, error)
	encode func(O) (json.RawMessage, error)
}

func (f function[I, O]) run(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	in, err := f.decode(input)
	if err != nil {
		return nil, &task.Error{Type: events.ErrorInvalidInput, Err: fmt.Errorf("the input is no %v: %w", reflect.TypeFor[I](), err), NonRetryable: true}
	}
	out, err := f.fn(ctx, in)
	if err != nil {
		return nil, err
	}
	return f.encode(out)
}

// decoder reads inputs; raw values pass as they are.
func decoder[I any]() func(json.RawMessage) (I, error) {
	if raw, ok := any(pass).(func(json.RawMessage) (I, error)); ok {
		return raw
	}
	return func(input json.RawMessage) (in I, err error) {
		err = json.Unmarshal(input, &in)
		return in, err
	}
}

func pass(value json.RawMessage) (json.RawMessage, error) { return value, nil }

// encoder writes results; a raw value passes as it is: the planner refuses what is not JSON.
func encoder[O any]() func(O) (json.RawMessage, error) {
	if raw, ok := any(pass).(func(O) (json.RawMessage, error)); ok {
		return raw
	}
	return func(out O) (json.RawMessage, error) {
		b, err := json.Marshal(&out)
		if err != nil {
			return nil, invalidResult(fmt.Errorf("the result has no JSON: %w", err))
		}
		return b, nil
	}
}

func invalidResult(err error) error {
	return &task.Error{Type: events.ErrorInvalidResult, Err: err, NonRetryable: true}
}
