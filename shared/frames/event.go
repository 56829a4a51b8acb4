package frames

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// Event is what a runner reports, in the order in which it happened.
type Event struct {
	Index int64
	Inner Report
}

// Report is what an event says: a closed set.
type Report interface {
	wire.Message
	report() int
	// Attempt is the token of the attempt that it is about.
	Attempt() string
}

var reports = set[Report]{
	{1, "TaskState", func() Report { return &TaskState{} }},
	{2, "Heartbeat", func() Report { return &Heartbeat{} }},
	{3, "TaskIntent", func() Report { return &TaskIntent{} }},
	{4, "SetAlarm", func() Report { return &SetAlarm{} }},
}

// State is what an attempt does on its runner.
type State string

// States of an attempt on its runner.
const (
	StateRunning  State = "running"
	StateStopped  State = "stopped"
	StateDetached State = "detached" // the runner has done its part, and its slot is free; somebody completes the attempt by its token
)

// TaskState says that an attempt has begun, or how it has ended.
type TaskState struct {
	Token  string
	State  State
	OK     bool            // of a stopped one: it has succeeded
	Result json.RawMessage // of one that has succeeded; empty: null
	Error  *TaskError      // of one that has failed
}

// TaskError is why an attempt has failed.
type TaskError struct {
	Type         string // tells policies and programs what it is; empty: "error"
	Message      string // for people
	NonRetryable bool   // another attempt cannot succeed; in JSON "retryable", true where it is not there
	RetryAfter   int64  // ms that the next attempt waits at least
	Details      json.RawMessage
}

// Heartbeat is what an attempt says of its progress: the next attempt gets the newest details.
type Heartbeat struct {
	Token   string
	Details json.RawMessage
}

// Intent is what an attempt wants to become of it.
type Intent string

// Intents of an attempt.
const (
	IntentStop  Intent = "stop"  // a StopTask with the reason requested
	IntentSleep Intent = "sleep" // to end, likewise, and go on with another attempt at its alarm, which was set before
)

// TaskIntent says what an attempt wants.
type TaskIntent struct {
	Token  string
	Intent Intent
}

// SetAlarm says when an attempt that sleeps wants to be started again.
type SetAlarm struct {
	Token string
	At    *int64 // Unix ms; nil: never, which takes back what was set
}

func (*TaskState) report() int  { return 1 }
func (*Heartbeat) report() int  { return 2 }
func (*TaskIntent) report() int { return 3 }
func (*SetAlarm) report() int   { return 4 }

// Attempt implements Report.
func (r *TaskState) Attempt() string { return r.Token }

// Attempt implements Report.
func (r *Heartbeat) Attempt() string { return r.Token }

// Attempt implements Report.
func (r *TaskIntent) Attempt() string { return r.Token }

// Attempt implements Report.
func (r *SetAlarm) Attempt() string { return r.Token }

// EventInner carries the report of an event.
type EventInner struct{ Report Report }

// Fields implements wire.Message.
func (r *EventInner) Fields(c *wire.Codec) { reports.fields(c, &r.Report, Report.report) }

// Fields implements wire.Message.
func (e *Event) Fields(c *wire.Codec) {
	wire.Index(c, 1, "index", &e.Index)
	inner := EventInner{e.Inner}
	wire.Nested(c, 2, "inner", &inner)
	e.Inner = inner.Report
}

// Fields implements wire.Message.
func (r *TaskState) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &r.Token)
	wire.String(c, 2, "state", &r.State)
	c.Bool(3, "ok", &r.OK)
	c.JSON(4, "result", &r.Result)
	wire.Optional(c, 5, "error", &r.Error)
}

// Fields implements wire.Message.
func (e *TaskError) Fields(c *wire.Codec) {
	wire.String(c, 1, "type", &e.Type)
	wire.String(c, 2, "message", &e.Message)
	c.Unless(3, "retryable", &e.NonRetryable)
	wire.Int(c, 4, "retryAfter", &e.RetryAfter)
	c.JSON(5, "details", &e.Details)
}

// Fields implements wire.Message.
func (r *Heartbeat) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &r.Token)
	c.JSON(2, "details", &r.Details)
}

// Fields implements wire.Message.
func (r *TaskIntent) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &r.Token)
	wire.String(c, 2, "intent", &r.Intent)
}

// Fields implements wire.Message.
func (r *SetAlarm) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &r.Token)
	wire.Maybe(c, 2, "at", &r.At)
}

func (e *Event) check() error {
	if e.Inner == nil {
		return fmt.Errorf("event %d is empty", e.Index)
	}
	return cmp.Or(index(e.Index), bounded("the token of an event", e.Inner.Attempt(), MaxToken), check(e.Inner))
}

func (r *TaskState) check() error {
	switch {
	case r.State != StateStopped && (r.OK || r.Error != nil || len(r.Result) > 0):
		return errors.New("an attempt that has not stopped has no outcome")
	case r.State == StateStopped && (r.OK == (r.Error != nil) || !r.OK && len(r.Result) > 0):
		return errors.New("a stopped attempt has a result and is ok, or an error and is not")
	case r.State != StateRunning && r.State != StateStopped && r.State != StateDetached:
		return fmt.Errorf("the state of an attempt is %.40q, want running, stopped or detached", r.State)
	}
	if r.Error != nil {
		if r.Error.RetryAfter < 0 {
			return fmt.Errorf("retryAfter is %d", r.Error.RetryAfter)
		}
		return isJSON("details", r.Error.Details)
	}
	return isJSON("result", r.Result)
}

func (r *Heartbeat) check() error { return isJSON("details", r.Details) }

func (r *TaskIntent) check() error {
	if r.Intent != IntentStop && r.Intent != IntentSleep {
		return fmt.Errorf("the intent of an attempt is %.40q, want stop or sleep", r.Intent)
	}
	return nil
}
