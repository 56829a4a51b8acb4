package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// DefinitionPinned keeps a definition with the partition, before the first run
// there that uses it: state needs nothing from outside the journal.
type DefinitionPinned struct {
	Digest    string
	Canonical json.RawMessage
}

func (*DefinitionPinned) number() int { return 34 }

// Fields implements wire.Message.
func (e *DefinitionPinned) Fields(c *wire.Codec) {
	wire.String(c, 1, "digest", &e.Digest)
	c.JSON(2, "canonical", &e.Canonical)
}

// WorkflowStarted begins a run; its record's position is the run's id.
type WorkflowStarted struct {
	Digest   string // of the pinned definition
	Name     string
	Version  string
	Options  json.RawMessage // given with the workflow
	Policies json.RawMessage // rules given with the workflow
	Context  json.RawMessage // with the definition's defaults
	Labels   json.RawMessage // evaluated
	By       By
	Own      json.RawMessage // contexts of components, an object by name
}

func (*WorkflowStarted) number() int { return 1 }

// Fields implements wire.Message.
func (e *WorkflowStarted) Fields(c *wire.Codec) {
	wire.String(c, 1, "digest", &e.Digest)
	wire.String(c, 2, "name", &e.Name)
	wire.String(c, 3, "version", &e.Version)
	c.JSON(4, "options", &e.Options)
	c.JSON(5, "policies", &e.Policies)
	c.JSON(6, "context", &e.Context)
	c.JSON(7, "labels", &e.Labels)
	wire.Nested(c, 8, "by", &e.By)
	c.JSON(9, "component_context", &e.Own)
}

// InputAccepted adds an input. A held one waits for the workflow to be resumed
// or its failures to be dealt with.
type InputAccepted struct {
	Fact     FactID
	Value    json.RawMessage
	Policies json.RawMessage // rules given with the input
	Replace  bool            // the input's own rules only
	Context  json.RawMessage
	Held     bool
	By       By
}

func (*InputAccepted) number() int { return 2 }

// Fields implements wire.Message.
func (e *InputAccepted) Fields(c *wire.Codec) {
	wire.Int(c, 1, "fact", &e.Fact)
	c.JSON(2, "value", &e.Value)
	c.JSON(3, "policies", &e.Policies)
	c.Bool(4, "replace", &e.Replace)
	c.JSON(5, "context", &e.Context)
	c.Bool(6, "held", &e.Held)
	wire.Nested(c, 7, "by", &e.By)
}

// InputSettled says that nothing descending from the input is open any more.
type InputSettled struct {
	Scope ScopeID
}

func (*InputSettled) number() int { return 18 }

// Fields implements wire.Message.
func (e *InputSettled) Fields(c *wire.Codec) {
	wire.Int(c, 1, "scope", &e.Scope)
}

// WorkflowIdle says that everything is settled and the results are complete.
type WorkflowIdle struct {
}

func (*WorkflowIdle) number() int { return 19 }

// Fields implements wire.Message.
func (*WorkflowIdle) Fields(*wire.Codec) {}

// WorkflowFailed says that a failure halts the workflow.
type WorkflowFailed struct {
	Component uint32
	Runnable  RunnableID
	Error     TaskError
}

func (*WorkflowFailed) number() int { return 20 }

// Fields implements wire.Message.
func (e *WorkflowFailed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "runnable", &e.Runnable)
	wire.Nested(c, 3, "error", &e.Error)
}

// WorkflowPaused stops admission; what is active finishes and counts. One that a loss may
// concern is quarantined: the partition pauses it until somebody resumes it.
type WorkflowPaused struct {
	By         By
	Quarantine string // what was lost; empty: somebody pauses it
}

func (*WorkflowPaused) number() int { return 21 }

// Fields implements wire.Message.
func (e *WorkflowPaused) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "by", &e.By)
	wire.String(c, 2, "quarantine", &e.Quarantine)
}

// WorkflowResumed admits again.
type WorkflowResumed struct {
	Policies json.RawMessage
	Context  json.RawMessage
	By       By
}

func (*WorkflowResumed) number() int { return 22 }

// Fields implements wire.Message.
func (e *WorkflowResumed) Fields(c *wire.Codec) {
	c.JSON(1, "policies", &e.Policies)
	c.JSON(2, "context", &e.Context)
	wire.Nested(c, 3, "by", &e.By)
}

// WorkflowRevived says that no halting failure is left: a failed workflow runs again.
type WorkflowRevived struct {
}

func (*WorkflowRevived) number() int { return 37 }

// Fields implements wire.Message.
func (*WorkflowRevived) Fields(*wire.Codec) {}

// WorkflowStopping begins to drain; attempts that are open at the limit close
// as cancelled.
type WorkflowStopping struct {
	Until   int64 // Unix ms
	Persist bool  // a checkpoint when stopped
	By      By
}

func (*WorkflowStopping) number() int { return 23 }

// Fields implements wire.Message.
func (e *WorkflowStopping) Fields(c *wire.Codec) {
	wire.Int(c, 1, "until", &e.Until)
	c.Bool(2, "persist", &e.Persist)
	wire.Nested(c, 3, "by", &e.By)
}

// WorkflowStopped says that nothing is active; resume goes on.
type WorkflowStopped struct {
}

func (*WorkflowStopped) number() int { return 24 }

// Fields implements wire.Message.
func (*WorkflowStopped) Fields(*wire.Codec) {}

// WorkflowCancelled ends the run; open attempts are told.
type WorkflowCancelled struct {
	By By
}

func (*WorkflowCancelled) number() int { return 25 }

// Fields implements wire.Message.
func (e *WorkflowCancelled) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "by", &e.By)
}

// WorkflowCompleted ends the run: it became idle and its option says close.
type WorkflowCompleted struct {
}

func (*WorkflowCompleted) number() int { return 26 }

// Fields implements wire.Message.
func (*WorkflowCompleted) Fields(*wire.Codec) {}

// WorkflowDeleted removes the run's rows; the ID may be started again.
type WorkflowDeleted struct {
	By   By
	Told []ReplyTo // those who waited for the workflow to drain: its rows do not say any more
	Run  RunID     // of Open; zero when that is empty
	Open []OpenAttempt

	Drains uint64 // how often the run had told that it drained
}

func (*WorkflowDeleted) number() int { return 27 }

// Fields implements wire.Message.
func (e *WorkflowDeleted) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "by", &e.By)
	wire.Repeated(c, 2, "told", &e.Told)
	wire.Nested(c, 3, "run", &e.Run)
	wire.Repeated(c, 4, "open", &e.Open)
	wire.Int(c, 5, "drains", &e.Drains)
}

// OpenAttempt is an attempt that a worker had, or was to get, when its run was
// deleted: what of its token no row says any more, so that the worker can be
// told to stop. A workflow has as many as it has active attempts at most.
type OpenAttempt struct {
	Runnable RunnableID
	Attempt  uint32
	Decided  Position
	Work     *Began // the attempt that began the work which it goes on with; nil: it has begun that itself
	Pool     string // id of the pool that it was handed to; empty: to workers
}

// Fields implements wire.Message.
func (o *OpenAttempt) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &o.Runnable)
	wire.Int(c, 2, "attempt", &o.Attempt)
	wire.Nested(c, 3, "decided", &o.Decided)
	wire.Optional(c, 4, "work", &o.Work)
	wire.Name(c, 5, "pool", &o.Pool)
}

// WorkflowQuarantined says that a defect was contained: the input went to the
// dlq and the workflow is as it was before it.
type WorkflowQuarantined struct {
	Reason string
	Timer  []byte // key of the row (a timer, a record that could not be applied) that was the input; it is dropped
}

func (*WorkflowQuarantined) number() int { return 72 }

// Fields implements wire.Message.
func (e *WorkflowQuarantined) Fields(c *wire.Codec) {
	wire.String(c, 1, "reason", &e.Reason)
	c.Bytes(2, "timer", &e.Timer)
}

// CheckpointRequested makes the workflow's changed rows due.
type CheckpointRequested struct {
	By By
}

func (*CheckpointRequested) number() int { return 33 }

// Fields implements wire.Message.
func (e *CheckpointRequested) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "by", &e.By)
}

// CommandRefused is a command that was not obeyed, and why.
type CommandRefused struct {
	Command string
	Code    string // stable, as already_started
	Message string
	Path    string // of the field at fault, or empty
}

func (*CommandRefused) number() int { return 28 }

// Fields implements wire.Message.
func (e *CommandRefused) Fields(c *wire.Codec) {
	wire.String(c, 1, "command", &e.Command)
	wire.String(c, 2, "code", &e.Code)
	wire.String(c, 3, "message", &e.Message)
	wire.String(c, 4, "path", &e.Path)
}

// CommandIgnored is a command that asks for what already is.
type CommandIgnored struct {
	Command string
}

func (*CommandIgnored) number() int { return 36 }

// Fields implements wire.Message.
func (e *CommandIgnored) Fields(c *wire.Codec) {
	wire.String(c, 1, "command", &e.Command)
}
