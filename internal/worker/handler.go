package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/spelling"
)

// Handler runs attempts of a task. It is called from many goroutines at once.
//
// The result is valid JSON (empty = null) that the Worker owns from then on. The
// context ends when the attempt is cancelled (ErrCancelled), its time is over
// (ErrTimeout) or the worker must stop (ErrDrained); context.Cause says which.
// An error is reported as failed; one that has a TaskError (Failure) says how.
type Handler interface {
	Run(ctx context.Context, a *Attempt) (json.RawMessage, error)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, a *Attempt) (json.RawMessage, error)

// Run implements Handler.
func (f HandlerFunc) Run(ctx context.Context, a *Attempt) (json.RawMessage, error) { return f(ctx, a) }

// Lookup finds the handler of a task by its name; false hands the attempt back
// as unknown_task.
type Lookup func(task string) (Handler, bool)

// What a handler returns for an attempt that it does not end itself.
var (
	// ErrPending: the work goes on elsewhere and is completed by the token.
	ErrPending = errors.New("the attempt completes later, by its token")
	// ErrUnknownTask: the handler does not know the task; it is handed back.
	ErrUnknownTask = errors.New("unknown task")
	// ErrLost: the work went on elsewhere, and nobody knows what became of it; the policy's on_lost decides.
	ErrLost = errors.New("lost")
)

// unknownTask is an ErrUnknownTask that says who does not know which task.
type unknownTask struct {
	worker, task string
	nearest      string // of those that it knows; may be empty
}

func (e *unknownTask) Error() string {
	s := fmt.Sprintf("%s does not know %s", e.worker, e.task)
	if e.nearest != "" {
		s += "; nearest: " + e.nearest
	}
	return s
}

// Is makes it an ErrUnknownTask.
func (e *unknownTask) Is(target error) bool { return target == ErrUnknownTask }

// unknown says of an attempt that its task is not known here.
func (t *Worker) unknown(a *Attempt) error {
	e := &unknownTask{worker: t.config.Name, task: a.Spec.Task}
	if a.pool.Known != nil {
		e.nearest = spelling.Nearest(a.Spec.Task, a.pool.Known())
	}
	return e
}

// Causes of an attempt's context.
var (
	ErrCancelled = errors.New("the attempt was cancelled")
	ErrTimeout   = errors.New("the attempt's time is over")
	ErrDrained   = errors.New("the worker stops")
)

// Failure is an error that says how an attempt failed.
type Failure interface {
	error
	TaskError() events.TaskError
}

// TaskError is a Failure made from its parts.
type TaskError events.TaskError

func (e *TaskError) Error() string { return e.Type + ": " + e.Message }

// TaskError implements Failure.
func (e *TaskError) TaskError() events.TaskError { return events.TaskError(*e) }
