package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// FactProduced is a fact that needed no attempt: of a pure component.
type FactProduced struct {
	Fact      FactID
	Component uint32
	Scope     ScopeID
	Parents   []FactID
	Value     json.RawMessage
}

func (*FactProduced) number() int { return 3 }

// Fields implements wire.Message.
func (e *FactProduced) Fields(c *wire.Codec) {
	wire.Int(c, 1, "fact", &e.Fact)
	wire.Int(c, 2, "component", &e.Component)
	wire.Int(c, 3, "scope", &e.Scope)
	wire.Ints(c, 4, "parents", &e.Parents)
	c.JSON(5, "value", &e.Value)
}

// RunnableReady is an activation that waits for admission.
type RunnableReady struct {
	Runnable  RunnableID
	Component uint32
	Scope     ScopeID
	Parents   []FactID // by arm; 0 for a dead optional arm
	Depth     uint32
	Policy    []byte // resolved, as package policy encodes it; empty for the defaults
	EndBy     int64  // Unix ms until which it must have ended; 0: there is no limit
}

func (*RunnableReady) number() int { return 4 }

// Fields implements wire.Message.
func (e *RunnableReady) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "component", &e.Component)
	wire.Int(c, 3, "scope", &e.Scope)
	wire.Ints(c, 4, "parents", &e.Parents)
	wire.Int(c, 5, "depth", &e.Depth)
	c.Bytes(6, "policy", &e.Policy)
	wire.Int(c, 7, "end_by", &e.EndBy)
}

// RunnableDispatched is the intent to run an attempt, before its delivery. The
// record's position is part of the attempt's token.
type RunnableDispatched struct {
	Runnable RunnableID
	Attempt  uint32
	Queue    string // empty when external
	For      Purpose
	StartBy  int64  // Unix ms until which a worker must have begun it; 0: there is no limit
	Key      string // idempotency key of this attempt and all that follow; empty: it has one, or its policy gives none
	Work     *Began // the attempt that has begun the work which this one goes on with; nil: this one begins it
	Pool     string // id of the pool that runs it; empty: workers of the queue do
}

// Began names an attempt that has begun a work. The work may outlive the attempt, where its worker has handed it
// over to something else, as a queue of jobs: an attempt that replaces one that was lost or handed back goes on with
// the same work. A failure, or the end of its time, ends the work; the next attempt begins another one.
type Began struct {
	Attempt uint32
	Decided Position
}

// Fields implements wire.Message.
func (b *Began) Fields(c *wire.Codec) {
	wire.Int(c, 1, "attempt", &b.Attempt)
	wire.Nested(c, 2, "decided", &b.Decided)
}

func (*RunnableDispatched) number() int { return 5 }

// Fields implements wire.Message.
func (e *RunnableDispatched) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "attempt", &e.Attempt)
	wire.String(c, 3, "queue", &e.Queue)
	wire.Int(c, 4, "for", &e.For)
	wire.Int(c, 5, "start_by", &e.StartBy)
	wire.String(c, 6, "idempotency_key", &e.Key)
	wire.Optional(c, 7, "work", &e.Work)
	wire.Name(c, 8, "pool", &e.Pool)
}

// RunnableNotified says that a worker has the attempt.
type RunnableNotified struct {
	Runnable RunnableID
	Channel  string
	Executor string
	Detached bool  // completed by its token; no heartbeats guard it
	At       int64 // Unix ms; 0: it is of before dispatch records
}

func (*RunnableNotified) number() int { return 6 }

// Fields implements wire.Message.
func (e *RunnableNotified) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.String(c, 2, "channel", &e.Channel)
	wire.String(c, 3, "executor", &e.Executor)
	c.Bool(4, "detached", &e.Detached)
	wire.Int(c, 5, "at", &e.At)
}

// RunnableHeartbeat keeps the details that a running attempt gave, if it gave any; where there is a
// limit to its silence, the time for the next one begins.
type RunnableHeartbeat struct {
	Runnable RunnableID
	Details  json.RawMessage
	Reason   string // of the attempt's delivery to a program that must be prodded, if the details tell of one
}

func (*RunnableHeartbeat) number() int { return 32 }

// Fields implements wire.Message.
func (e *RunnableHeartbeat) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	c.JSON(2, "details", &e.Details)
	wire.String(c, 3, "reason", &e.Reason)
}

// LeaderNotificationDeferred says that the delivery of an attempt waits for the party that it is to inform: once, until
// the reason of the delivery is another one.
type LeaderNotificationDeferred struct {
	Runnable RunnableID
}

func (*LeaderNotificationDeferred) number() int { return 76 }

// Fields implements wire.Message.
func (e *LeaderNotificationDeferred) Fields(c *wire.Codec) { wire.Int(c, 1, "runnable", &e.Runnable) }

// RunnableCompleted closes an attempt and its runnable and produces its fact.
type RunnableCompleted struct {
	Runnable RunnableID
	Fact     FactID
	Value    json.RawMessage
	Executor string
	Started  int64 // Unix ms
	Finished int64 // Unix ms
}

func (*RunnableCompleted) number() int { return 7 }

// Fields implements wire.Message.
func (e *RunnableCompleted) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "fact", &e.Fact)
	c.JSON(3, "value", &e.Value)
	wire.String(c, 4, "executor", &e.Executor)
	wire.Int(c, 5, "started", &e.Started)
	wire.Int(c, 6, "finished", &e.Finished)
}

// RunnableFailed closes an attempt that failed.
type RunnableFailed struct {
	Runnable RunnableID
	Error    TaskError
	Action   Action
	Executor string
}

func (*RunnableFailed) number() int { return 8 }

// Fields implements wire.Message.
func (e *RunnableFailed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Nested(c, 2, "error", &e.Error)
	wire.Int(c, 3, "action", &e.Action)
	wire.String(c, 4, "executor", &e.Executor)
}

// FallbackApplied says that a runnable with no attempt left falls back: RunnableCompleted follows for a value or an
// expression, another attempt for a task or a retry.
type FallbackApplied struct {
	Runnable RunnableID
	Form     uint8     // as package policy numbers them
	Error    TaskError // the original one, with which the runnable fails if the fallback does
}

func (*FallbackApplied) number() int { return 48 }

// Fields implements wire.Message.
func (e *FallbackApplied) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "form", &e.Form)
	wire.Nested(c, 3, "error", &e.Error)
}

// ProbeAnswered closes an attempt of a probe that knows what became of the attempt that was lost.
type ProbeAnswered struct {
	Runnable RunnableID
	Answer   Answer
	Executor string
}

func (*ProbeAnswered) number() int { return 49 }

// Fields implements wire.Message.
func (e *ProbeAnswered) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "answer", &e.Answer)
	wire.String(c, 3, "executor", &e.Executor)
}

// OutcomeArrived says that an attempt that was lost has an outcome after all, which follows: of its worker, or of
// somebody who has its token. A probe that is open is closed.
type OutcomeArrived struct {
	Runnable RunnableID
	Executor string
	// The attempt of a probe that was open, whose worker is told.
	Attempt uint32   // 0: nobody has one
	Decided Position // the record that dispatched it
}

func (*OutcomeArrived) number() int { return 56 }

// Fields implements wire.Message.
func (e *OutcomeArrived) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.String(c, 2, "executor", &e.Executor)
	wire.Int(c, 3, "attempt", &e.Attempt)
	wire.Nested(c, 4, "decided", &e.Decided)
}

// FailureCaught is the fact that a failure becomes for the components that catch it.
type FailureCaught struct {
	Runnable RunnableID
	Fact     FactID
	Value    json.RawMessage // {error, value}
}

func (*FailureCaught) number() int { return 45 }

// Fields implements wire.Message.
func (e *FailureCaught) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "fact", &e.Fact)
	c.JSON(3, "value", &e.Value)
}

// RunnableTimedOut closes an attempt whose time was over, or that of its runnable;
// whether an attempt that had begun had effects is unknown.
type RunnableTimedOut struct {
	Runnable RunnableID
	Error    TaskError
	Action   Action
	Idle     bool // no attempt was open: no worker is told
	// The attempt whose worker is told, which the runnable may not know any more behind the record.
	Attempt uint32   // 0: nobody has it
	Decided Position // the record that dispatched it
	Work    *Began   // the attempt that began the work which it went on with; nil: it had begun that itself
}

func (*RunnableTimedOut) number() int { return 9 }

// Fields implements wire.Message.
func (e *RunnableTimedOut) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Nested(c, 2, "error", &e.Error)
	wire.Int(c, 3, "action", &e.Action)
	c.Bool(4, "idle", &e.Idle)
	wire.Int(c, 5, "attempt", &e.Attempt)
	wire.Nested(c, 6, "decided", &e.Decided)
	wire.Optional(c, 7, "work", &e.Work)
}

// RunnableLost closes an attempt whose worker vanished; whether it had effects
// is unknown.
type RunnableLost struct {
	Runnable RunnableID
	Error    TaskError
	Action   Action
}

func (*RunnableLost) number() int { return 10 }

// Fields implements wire.Message.
func (e *RunnableLost) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Nested(c, 2, "error", &e.Error)
	wire.Int(c, 3, "action", &e.Action)
}

// RunnableReturned hands an attempt back that no worker has begun: it counts
// for nothing and is dispatched again when it is due.
type RunnableReturned struct {
	Runnable RunnableID
	Due      int64 // Unix ms
	Reason   string
	// The attempt that goes elsewhere since its queue is bound elsewhere by now: who may have it is told that it is not wanted there.
	Attempt uint32   // 0: it was handed back by who had it
	Decided Position // the record that dispatched it
	Shard   string   // of its pool that has free slots for it: its id; empty: it was not returned for that
}

func (*RunnableReturned) number() int { return 11 }

// Fields implements wire.Message.
func (e *RunnableReturned) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "due", &e.Due)
	wire.String(c, 3, "reason", &e.Reason)
	wire.Int(c, 4, "attempt", &e.Attempt)
	wire.Nested(c, 5, "decided", &e.Decided)
	wire.Name(c, 6, "shard", &e.Shard)
}

// RetryScheduled arms the durable timer of the next attempt.
type RetryScheduled struct {
	Runnable RunnableID
	Due      int64 // Unix ms; the admission queue is joined then
}

func (*RetryScheduled) number() int { return 12 }

// Fields implements wire.Message.
func (e *RetryScheduled) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "due", &e.Due)
}

// RunnableRetried makes a failed runnable ready again, by command.
type RunnableRetried struct {
	Runnable RunnableID
	Input    json.RawMessage // edited, or empty
	By       By
	EndBy    int64 // Unix ms until which it must have ended; 0: there is no limit
}

func (*RunnableRetried) number() int { return 31 }

// Fields implements wire.Message.
func (e *RunnableRetried) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	c.JSON(2, "input", &e.Input)
	wire.Nested(c, 3, "by", &e.By)
	wire.Int(c, 4, "end_by", &e.EndBy)
}

// RunnableSkipped gives up a runnable by command; what depends on it is suppressed.
type RunnableSkipped struct {
	Runnable RunnableID
	By       By
}

func (*RunnableSkipped) number() int { return 30 }

// Fields implements wire.Message.
func (e *RunnableSkipped) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Nested(c, 2, "by", &e.By)
}

// RunnableCancelled closes what was open when the workflow was cancelled or
// stopped. Rearm keeps it for resume. An idle one had no attempt open: no worker is
// told.
type RunnableCancelled struct {
	Runnable RunnableID
	Rearm    bool
	Idle     bool
	Work     bool // though no attempt for a result is open, somebody may be at what one before has begun
}

func (*RunnableCancelled) number() int { return 29 }

// Fields implements wire.Message.
func (e *RunnableCancelled) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	c.Bool(2, "rearm", &e.Rearm)
	c.Bool(3, "idle", &e.Idle)
	c.Bool(4, "work", &e.Work)
}

// RunnableSuppressed says that a component cannot run in this scope, because
// something it needs failed or was skipped.
type RunnableSuppressed struct {
	Component uint32
	Scope     ScopeID
}

func (*RunnableSuppressed) number() int { return 13 }

// Fields implements wire.Message.
func (e *RunnableSuppressed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "scope", &e.Scope)
}
