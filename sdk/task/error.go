package task

import (
	"cmp"
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

// Error is why an attempt failed. A task's function returns one to say more than an
// ordinary error does; a client that waits for a workflow that it halted finds it by errors.As.
type Error struct {
	Type    string // tells policies and programs what it is; empty: "error"
	Message string // for people; empty: that of Err
	Err     error  // the cause, which errors.Is and errors.As see too; nil: none is known

	NonRetryable bool          // another attempt cannot succeed, whatever the policy allows
	RetryAfter   time.Duration // the next attempt, if the policy allows one, waits at least so long
	Details      any           // kept with the failure, as JSON of at most 64 KiB
}

// Error is type and message.
func (e *Error) Error() string {
	typ, message := cmp.Or(e.Type, events.ErrorTaskFailed), e.message()
	if message == "" {
		return typ
	}
	return typ + ": " + message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) message() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// TaskError is the failure as it is reported. Details that are no JSON are left out,
// and its message says so.
func (e *Error) TaskError() events.TaskError {
	out := events.TaskError{
		Type: cmp.Or(e.Type, events.ErrorTaskFailed), Message: e.message(),
		NonRetryable: e.NonRetryable, RetryAfterMs: e.RetryAfter.Milliseconds(),
	}
	if e.Details == nil {
		return out
	}
	raw, err := json.Marshal(e.Details)
	if err != nil {
		out.Message += fmt.Sprintf(" (its details are no JSON: %v)", err)
		return out
	}
	out.Details = raw
	return out
}
