package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/internal/adapter"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

// builtins are the tasks that need no worker.
type builtins struct {
	tasks   map[string]worker.Handler
	rest    worker.Handler // of all other tasks; nil: unknown
	closers []func()
}

// newBuiltins makes them for an executor that takes nothing more once stopping is closed.
func newBuiltins(c *Config, stopping <-chan struct{}) (*builtins, error) {
	b := &builtins{tasks: map[string]worker.Handler{}}
	request, err := newHTTPRequest(c.HTTP, c.Slots)
	if err != nil {
		return nil, err
	}
	b.tasks["http.request"] = request
	b.closers = append(b.closers, request.client.CloseIdleConnections)
	produce, err := newKafkaProduce(c)
	if err != nil {
		return nil, err
	}
	b.tasks["kafka.produce"] = produce
	b.closers = append(b.closers, produce.close)
	submit, err := newTerminalSubmit(c, stopping)
	if err != nil {
		return nil, err
	}
	b.tasks["terminal.submit"] = adapter.New(adapter.Config{Adapter: submit, Stopping: stopping, Logger: c.Logger})
	if b.tasks["exec.command"], err = newExecCommand(c); err != nil {
		return nil, err
	}
	if c.Test {
		for name, h := range testTasks() {
			b.tasks[name] = h
		}
	}
	return b, nil
}

func (b *builtins) lookup(task string) (worker.Handler, bool) {
	if h, ok := b.tasks[task]; ok {
		return h, true
	}
	return b.rest, b.rest != nil
}

// known are the tasks that are built in.
func (b *builtins) known() []string { return slices.Sorted(maps.Keys(b.tasks)) }

func (b *builtins) close() {
	for _, f := range b.closers {
		f()
	}
}

// refuse is a failure that no further attempt avoids.
func refuse(typ, format string, args ...any) error {
	return &worker.TaskError{Type: typ, Message: fmt.Sprintf(format, args...), NonRetryable: true}
}

// parameters reads the parameters of a built-in task from its input, an object.
func parameters(a *worker.Attempt, into any) error {
	return parametersOf(executor.Work{Task: a.Spec.Task, Input: a.Spec.Input, Laid: a.Spec.Laid}, into)
}

// parametersOf reads the parameters of a built-in task from the input of its work.
// Where params are laid over the arriving value, further fields are that value's,
// and params were checked with the definition; else a further field is a mistake.
func parametersOf(w executor.Work, into any) error {
	if err := json.Unmarshal(w.Input, into); err != nil {
		return refuse(events.ErrorInvalidInput, "%s: %v", w.Task, err)
	}
	if w.Laid {
		return nil
	}
	fields, err := expr.Members(w.Input)
	if err != nil { // null, which is an object without fields
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if wrong := definition.UnknownParameter(w.Task, name); wrong != "" {
			return refuse(events.ErrorInvalidInput, "%s", wrong)
		}
	}
	return nil
}
