package client

import (
	"encoding/json"
	"time"
)

// Status is what a workflow is at.
type Status string

// What a workflow may be at.
const (
	StatusRunning    Status = "running"
	StatusIdle       Status = "idle" // everything is settled; it waits for its next input
	StatusPaused     Status = "paused"
	StatusFailed     Status = "failed"     // halted by a failure, until that is retried or skipped
	StatusStopping   Status = "stopping"   // what is active may finish
	StatusStopped    Status = "stopped"    // until it is resumed
	StatusCompleted  Status = "completed"  // closed
	StatusCancelling Status = "cancelling" // much is open, and is being closed
	StatusCancelled  Status = "cancelled"  // closed
)

// RunnableStatus is what a runnable is at.
type RunnableStatus string

// What a runnable may be at.
const (
	RunnableReady      RunnableStatus = "ready"   // it has what it needs, and waits to be admitted
	RunnableWaiting    RunnableStatus = "waiting" // for its time: a sleep, or the next attempt
	RunnableActive     RunnableStatus = "active"  // an attempt is open
	RunnableCompleted  RunnableStatus = "completed"
	RunnableFailed     RunnableStatus = "failed"
	RunnableSkipped    RunnableStatus = "skipped"
	RunnableSuppressed RunnableStatus = "suppressed" // something that it needs failed or was skipped
	RunnableCancelled  RunnableStatus = "cancelled"
	RunnableUncertain  RunnableStatus = "uncertain" // its worker vanished, and somebody has to say what became of its attempt
)

// Workflow is the summary of a workflow.
type Workflow struct {
	ID         string         `json:"id"`
	Run        string         `json:"run"`
	Status     Status         `json:"status"`
	Definition DefinitionRef  `json:"definition"`
	Labels     map[string]any `json:"labels,omitempty"`
	Partition  int32          `json:"partition"`
	Owner      *Owner         `json:"owner"`
	CreatedAt  time.Time      `json:"created_at"`
	UpdatedAt  time.Time      `json:"updated_at"`
	Counts     Counts         `json:"counts"`
	Failure    *Failure       `json:"failure"`

	// ConditionErrors are the conditions of the run that could not be evaluated; nil
	// when there are none. The workflow went on without what depends on them.
	ConditionErrors *ConditionErrors `json:"condition_errors,omitempty"`

	Refusals *Refusals `json:"refusals,omitempty"` // of commands to the run; nil when there are none

	Signals *KeptSignals `json:"signals,omitempty"` // that nobody has taken yet; nil when there are none

	Notice *NoticeTrouble `json:"notice,omitempty"` // on_complete: what its receiver does not take; nil when there is nothing

	// InHand says that a failed workflow has not done all yet that it was told to do: a retry of much is carried
	// out in pieces. It has not drained then. Get and Wait tell it; answers to commands and lists do not.
	InHand bool `json:"in_hand,omitempty"`

	Archived *Archived `json:"archived,omitempty"` // it is kept outside Kafka, and what it shows is as of there; nil: it is the deployment's

	Position string `json:"position"` // in its partition's journal, EPOCH.SEQ, as of which all this is so
}

// Drained reports whether nothing of the workflow can go on by itself.
func (w *Workflow) Drained() bool {
	switch w.Status {
	case StatusIdle, StatusStopped, StatusCompleted, StatusCancelled:
		return true
	case StatusFailed:
		return w.Counts.Active == 0 && !w.InHand
	default:
		return false
	}
}

// DefinitionRef names a definition.
type DefinitionRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Owner is the planner that owns the workflow's partition.
type Owner struct {
	Instance    string    `json:"instance"`
	Epoch       uint64    `json:"epoch"`
	LeasedUntil time.Time `json:"leased_until"`
}

// Counts are a workflow's runnables by status.
type Counts struct {
	Ready      uint64 `json:"ready"`
	Waiting    uint64 `json:"waiting"`
	Active     uint64 `json:"active"`
	Completed  uint64 `json:"completed"`
	Failed     uint64 `json:"failed"`
	Skipped    uint64 `json:"skipped"`
	Suppressed uint64 `json:"suppressed"`
	Cancelled  uint64 `json:"cancelled"`
	Uncertain  uint64 `json:"uncertain,omitempty"`
}

// Failure is the failure that halted a workflow.
type Failure struct {
	Component string    `json:"component"`
	Runnable  string    `json:"runnable"`
	Error     TaskError `json:"error"`
}

// ConditionErrors are conditions that could not be evaluated.
type ConditionErrors struct {
	Count uint64    `json:"count"`
	First []Failure `json:"first,omitempty"` // in their order; those behind them are counted only
}

// Refusals are the commands to a run that were refused.
type Refusals struct {
	Count uint64      `json:"count"`
	Last  LastRefusal `json:"last"`
}

// NoticeTrouble says that the receiver that a workflow names under on_complete does not take
// the notice that it has drained.
type NoticeTrouble struct {
	Drain    uint64    `json:"drain"` // which notice, from 1
	State    string    `json:"state"` // failing: it is tried again; given_up
	Attempts uint32    `json:"attempts"`
	Error    TaskError `json:"error"` // of the last attempt
}

// KeptSignals are signals that nobody has taken yet.
type KeptSignals struct {
	Count uint64       `json:"count"`
	First []KeptSignal `json:"first,omitempty"` // the oldest; those behind them are counted only
}

// KeptSignal is one that waits for somebody to take it.
type KeptSignal struct {
	Name       string    `json:"name"`
	Key        string    `json:"key,omitempty"`
	ReceivedAt time.Time `json:"received_at"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// LastRefusal is the newest refusal of a run.
type LastRefusal struct {
	Time    time.Time `json:"time"`
	Command string    `json:"command"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
}

// Total is how many there are; of nil none.
func (e *ConditionErrors) Total() uint64 {
	if e == nil {
		return 0
	}
	return e.Count
}

// TaskError is why an attempt failed.
type TaskError struct {
	Type         string          `json:"type"`
	Message      string          `json:"message"`
	NonRetryable bool            `json:"non_retryable,omitempty"`
	RetryAfterMs int64           `json:"retry_after_ms,omitempty"` // the least time until another attempt, as the task asked for
	Details      json.RawMessage `json:"details,omitempty"`
}

// Results are the latest values of a workflow's outputs; null where there is
// none.
type Results struct {
	Status  Status                     `json:"status"`
	Results map[string]json.RawMessage `json:"results"`
}

// AllResults are all values of a workflow's outputs, each in order of production.
type AllResults struct {
	Status  Status                       `json:"status"`
	Results map[string][]json.RawMessage `json:"results"`
}

// Runnable is one activation of a component.
type Runnable struct {
	ID        string          `json:"id"`
	Component string          `json:"component"`
	Task      string          `json:"task"`
	Queue     string          `json:"queue"`
	Status    RunnableStatus  `json:"status"`
	Attempt   int             `json:"attempt"`
	Token     string          `json:"token"` // of an attempt that is completed from outside; null in JSON where there is none
	Input     json.RawMessage `json:"input"`
	Result    json.RawMessage `json:"result"`
	Error     *TaskError      `json:"error"`
	DueAt     *time.Time      `json:"due_at"`
	Scope     string          `json:"scope"`                     // the input, and an index for each map or loop around it, as f12/3/0
	Element   *uint64         `json:"element"`                   // the last of these indexes; nil: it is in none
	Created   *time.Time      `json:"created_at"`                // nil where that is not kept, as of completed ones
	Sent      *time.Time      `json:"dispatched_at"`             // of its newest attempt; likewise
	WaitsFor  string          `json:"waits_for,omitempty"`       // of one that is ready, waiting or active: what for, in words
	Executor  string          `json:"executor,omitempty"`        // that runs it, once it has said so
	Pool      string          `json:"pool,omitempty"`            // of runners, that was offered its open attempt
	Fallback  string          `json:"fallback,omitempty"`        // the form of the fallback that was applied, as in value; empty: none was
	Key       string          `json:"idempotency_key,omitempty"` // where its policy gives one, of one that is not completed
	Kept      *Kept           `json:"kept,omitempty"`            // what its attempts keep; nil: nothing
	Attempts  json.RawMessage `json:"attempts"`
}

// Kept is how much the attempts of a runnable keep for the next ones.
type Kept struct {
	Keys  int `json:"keys"`
	Bytes int `json:"bytes"` // of keys and values
}

// Explanation says why a workflow is where it is: what holds it as a whole, and the runnables
// that are open or have failed, each with what it waits for.
type Explanation struct {
	Status  Status   `json:"status"`
	Reasons []string `json:"reasons"`
	Page[Runnable]
}

// MarshalJSON writes it as the API does: without a token as null.
func (r Runnable) MarshalJSON() ([]byte, error) {
	type plain Runnable
	out := struct {
		plain
		Token *string `json:"token"`
	}{plain: plain(r)}
	if r.Token != "" {
		out.Token = &r.Token
	}
	return json.Marshal(out)
}

// Event is one event of a workflow's history. Fields holds the whole JSON
// object: position, time, type and the event's own fields.
type Event struct {
	Position string
	Time     time.Time
	Type     string
	Fields   json.RawMessage
}

// UnmarshalJSON keeps the whole object in Fields.
func (e *Event) UnmarshalJSON(b []byte) error {
	var head struct {
		Position string    `json:"position"`
		Time     time.Time `json:"time"`
		Type     string    `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	*e = Event{head.Position, head.Time, head.Type, append(json.RawMessage(nil), b...)}
	return nil
}

// MarshalJSON gives back Fields.
func (e Event) MarshalJSON() ([]byte, error) { return e.Fields, nil }

// Page is one page of a list; Next is empty on the last one.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor"`

	// LookedAt is how many were looked at, where the page ends because they are enough for
	// one request, and not because it is full: what is wanted may be behind it.
	LookedAt int `json:"looked_at,omitempty"`
}

// DefinitionVersion is one definition of a name.
type DefinitionVersion struct {
	DefinitionRef
	RegisteredAt time.Time      `json:"registered_at"`
	Open         *OpenWorkflows `json:"open_workflows"` // nil while the gateway makes its list of workflows again
}

// NamedDefinition is what a name means now, and what is registered under it.
type NamedDefinition struct {
	DefinitionVersion
	Versions int            `json:"versions"`           // how many there are
	AllOpen  *OpenWorkflows `json:"all_open_workflows"` // of all versions; nil as Open is
}

// OpenWorkflows is how many workflows that are not closed use a definition.
type OpenWorkflows struct {
	Count   uint64 `json:"count"`
	AtLeast bool   `json:"at_least"` // there are too many open workflows to count them all
}

// Definition is a registered definition.
type Definition struct {
	DefinitionRef
	Replaces string          `json:"replaces,omitempty"` // of a registration: the digest that this version meant before
	Warnings []FieldError    `json:"warnings,omitempty"`
	Source   json.RawMessage `json:"definition,omitempty"` // canonical form
}
