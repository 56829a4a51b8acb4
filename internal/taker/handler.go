package taker

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/heddle-run/heddle/shared/events"
)

// Handler runs attempts of a task. It is called from many goroutines at once.
//
// The result is valid JSON (empty = null) that the Taker owns from then on. The
// context ends when the attempt is cancelled (ErrCancelled), its time is over
// (ErrTimeout) or the taker must stop (ErrDrained); context.Cause says which.
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
)

// Causes of an attempt's context.
var (
	ErrCancelled = errors.New("the attempt was cancelled")
	ErrTimeout   = errors.New("the attempt's time is over")
	ErrDrained   = errors.New("the taker stops")
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
