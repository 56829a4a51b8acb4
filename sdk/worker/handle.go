package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/heddle-run/heddle/internal/adapter"
	"github.com/heddle-run/heddle/internal/typed"
	core "github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/task"
)

// Handle makes w run fn for the attempts of t. It is for the time before Run;
// registering a task twice, or later, is an error of Run. fn is called from
// many goroutines at once; a panic fails the attempt, not the program.
func Handle[I, O any](w *Worker, t task.Task[I, O], fn func(context.Context, I) (O, error)) {
	run := typed.JSON(fn)
	for _, i := range slices.Backward(w.options.Interceptors) {
		run = i(run)
	}
	w.register(t.Name(), t.Queue(), &handler{run, w.options.Logger})
}

// Handler runs an attempt: JSON in, JSON out.
type Handler = task.Handler

// Interceptor puts something around the functions of a worker's tasks.
type Interceptor = task.Interceptor

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
