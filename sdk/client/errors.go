package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
)

// Error is a refusal: what was asked was understood and is not done.
type Error struct {
	Code     string       // stable, as not_found
	Status   int          // of the HTTP answer; 0 over Kafka
	Message  string       // for people
	Path     string       // of the field at fault, or empty
	Errors   []FieldError // all fields at fault, where several are
	Workflow *Workflow    // already_started: the run that exists

	RetryAfter time.Duration // when the same request may be answered, where the answer says so; else 0
}

// FieldError is one field at fault.
type FieldError struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"` // in the source of a definition, from 1; 0: not known
	Column  int    `json:"column,omitempty"`
}

// text is the field's path and what is wrong with it, behind its line and column.
func (f *FieldError) text() string {
	s := f.Message
	if f.Path != "" {
		s = f.Path + ": " + s
	}
	if f.Line > 0 {
		s = fmt.Sprintf("%d:%d: %s", f.Line, f.Column, s)
	}
	return s
}

// Errors to compare with by errors.Is: only their codes count.
var (
	ErrNotFound       = &Error{Code: "not_found"}
	ErrAlreadyStarted = &Error{Code: "already_started"}
	ErrClosed         = &Error{Code: "closed"}
	ErrStopped        = &Error{Code: "stopped"}
	ErrConflict       = &Error{Code: "conflict"}
	ErrAttemptClosed  = &Error{Code: "attempt_closed"}
	ErrUnavailable    = &Error{Code: "unavailable"} // Kafka or the gateway does not answer
	ErrUnsupported    = &Error{Code: "unsupported"} // not possible the way this client is connected
)

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	if e.Path != "" {
		b.WriteString(" at " + e.Path)
	}
	if e.Message != "" {
		b.WriteString(": " + strings.TrimPrefix(e.Message, e.Path+": ")) // a gateway's message names the place too
	}
	for _, f := range e.Errors {
		b.WriteString("\n  " + f.text())
	}
	return b.String()
}

// Is compares codes.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// refuses reports whether an error is the answer that something is not done. Any other one says of what was
// to be done neither that it was nor that it was not.
func refuses(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status < 500 && !errors.Is(err, ErrUnavailable)
}

// FailedError says that a workflow whose result was wanted has not got it: it
// failed, was stopped or was cancelled.
type FailedError struct {
	Workflow *Workflow
}

func (e *FailedError) Error() string {
	w := e.Workflow
	if w.Failure == nil {
		return fmt.Sprintf("workflow %s is %s", w.ID, w.Status)
	}
	return fmt.Sprintf("workflow %s is %s: %s (%s): %s: %s", w.ID, w.Status,
		w.Failure.Component, w.Failure.Runnable, w.Failure.Error.Type, w.Failure.Error.Message)
}

// Unwrap is the failure that halted the workflow, as a *task.Error; nil if none did.
func (e *FailedError) Unwrap() error {
	f := e.Workflow.Failure
	if f == nil {
		return nil
	}
	out := &task.Error{Type: f.Error.Type, Message: f.Error.Message}
	if len(f.Error.Details) > 0 {
		out.Details = f.Error.Details
	}
	return out
}
