package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// ErrPending is what a task's function returns when the work goes on elsewhere
// and is completed by the attempt's token (Token), over the API or with a
// command. The slot is free at once; heartbeats and the drain of the worker do
// not concern the attempt any more.
var ErrPending = errors.New("the attempt completes later, by its token")

// FailOption says more about a failure.
type FailOption func(*failure)

// NonRetryable says that another attempt cannot succeed, whatever the policy allows.
func NonRetryable() FailOption {
	return func(f *failure) { f.wire.NonRetryable = true }
}

// RetryAfter asks that the next attempt, if the policy allows one, waits at
// least d.
func RetryAfter(d time.Duration) FailOption {
	return func(f *failure) { f.wire.RetryAfterMs = d.Milliseconds() }
}

// Details are kept with the failure, as JSON of at most 64 KiB.
func Details(v any) FailOption {
	return func(f *failure) {
		raw, err := json.Marshal(v)
		if err != nil {
			f.wire.Message += fmt.Sprintf(" (its details are no JSON: %v)", err)
			return
		}
		f.wire.Details = raw
	}
}

// Fail is an error of a type that policies and programs can tell apart; without
// it a failure has the type "error". err is its message and its cause.
func Fail(typ string, err error, opts ...FailOption) error {
	f := &failure{cause: err, wire: events.TaskError{Type: typ}}
	if err != nil {
		f.wire.Message = err.Error()
	}
	for _, opt := range opts {
		opt(f)
	}
	return f
}

type failure struct {
	cause error
	wire  events.TaskError
}

func (f *failure) Error() string {
	if f.wire.Message == "" {
		return f.wire.Type
	}
	return f.wire.Type + ": " + f.wire.Message
}

func (f *failure) Unwrap() error { return f.cause }

// TaskError is the failure as it is reported.
func (f *failure) TaskError() events.TaskError { return f.wire }
