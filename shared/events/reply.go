package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// Kinds of replies.
const (
	ReplyDecided = "decided" // the command was decided
	ReplyDrained = "drained" // the workflow is idle, failed, stopped or closed; or refused: it was deleted
	ReplyAnswer  = "answer"  // to a query
)

// Results of a decided command.
const (
	ResultDone     = "done"
	ResultNoChange = "no_change"
	ResultRefused  = "refused"
)

// Statuses are those that a workflow can have.
func Statuses() []string {
	return []string{"running", "idle", "paused", "failed", "stopping", "stopped", "completed", "cancelling", "cancelled"}
}

// Refusal is why a command or query was not obeyed. Codes are stable.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
}

// Reply answers a command or query: the JSON value of a record on the replies
// topic, whose key is the address that asked.
type Reply struct {
	ID       string          `json:"id"` // what the caller knows its question by
	Kind     string          `json:"kind"`
	Workflow string          `json:"workflow,omitempty"`
	Command  string          `json:"command,omitempty"`
	Result   string          `json:"result,omitempty"`
	Refusal  *Refusal        `json:"refusal,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`

	// Summary, when it is set, is the body, not encoded: of Workflow.
	Summary *Summary `json:"-"`

	// Followed says that a reply ReplyDrained to the same caller will follow.
	Followed bool `json:"-"`
}

// Query asks the owning planner for a consistent read: the value of a record on
// the queries topic, whose key is the workflow ID.
type Query struct {
	Kind     string // workflow, results, productions, facts, runnables, explain, history, graph, kept
	Workflow string
	ReplyTo  ReplyTo
	Deadline int64 // Unix ms after which nobody waits for the answer
	All      bool  // results and productions: every value instead of the latest
	Cursor   string
	Limit    uint32
	Filter   string // runnables, dispatches: a status

	Component string // runnables: those of a component
	Queue     string // dispatches: those of a task queue

	Token   string   // kept: the text of the token of an attempt that is open
	Keys    []string // kept: those that are wanted, in this order; none: all, in their order
	Prefix  string   // kept: of the keys
	Reverse bool     // kept: the last come first
}

// KeptQuery is the kind of query by which an attempt reads what it and those before it keep. The body of the answer is KeptAnswer.
const KeptQuery = "kept"

// KeptAnswer is what an attempt has asked for; keys that are not kept are left out.
type KeptAnswer struct {
	Entries []KeptCandidate `json:"entries"`
}

// DispatchesQuery is the kind of query that asks a partition for its dispatch records: Workflow is that of
// PartitionWorkflow.
const DispatchesQuery = "dispatches"

// Fields implements wire.Message.
func (q *Query) Fields(c *wire.Codec) {
	wire.String(c, 1, "kind", &q.Kind)
	wire.String(c, 2, "workflow", &q.Workflow)
	wire.Nested(c, 3, "reply_to", &q.ReplyTo)
	wire.Int(c, 4, "deadline", &q.Deadline)
	c.Bool(5, "all", &q.All)
	wire.String(c, 6, "cursor", &q.Cursor)
	wire.Int(c, 7, "limit", &q.Limit)
	wire.String(c, 8, "filter", &q.Filter)
	wire.String(c, 9, "component", &q.Component)
	wire.String(c, 10, "queue", &q.Queue)
	wire.String(c, 11, "token", &q.Token)
	c.Strings(12, "keys", &q.Keys)
	wire.String(c, 13, "prefix", &q.Prefix)
	c.Bool(14, "reverse", &q.Reverse)
}

// DefinitionRef names a definition.
type DefinitionRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
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
	Uncertain  uint64 `json:"uncertain,omitempty"` // somebody has to say what became of them
}

// Failure is the failure that halted a workflow.
type Failure struct {
	Component string    `json:"component"`
	Runnable  string    `json:"runnable"`
	Error     TaskError `json:"error"`
}

// ConditionErrors are the conditions of a run that could not be evaluated. Each
// failed its own activation only: the workflow went on without it.
type ConditionErrors struct {
	Count uint64    `json:"count"`
	First []Failure `json:"first,omitempty"` // in their order; those behind them are counted only
}

// Refusals are the commands to a run that were refused: how many, and the last.
type Refusals struct {
	Count uint64      `json:"count"`
	Last  LastRefusal `json:"last"`
}

// KeptSignals are the signals to a run that nobody has taken yet: how many, and the
// oldest of them.
type KeptSignals struct {
	Count uint64       `json:"count"`
	First []KeptSignal `json:"first,omitempty"`
}

// KeptSignal is one that waits for somebody to take it.
type KeptSignal struct {
	Name       string `json:"name"`
	Key        string `json:"key,omitempty"`
	ReceivedAt string `json:"received_at"`
	ExpiresAt  string `json:"expires_at"`
}

// LastRefusal is the newest refusal of a run.
type LastRefusal struct {
	Time    string `json:"time"` // RFC 3339
	Command string `json:"command"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Bounds of what a summary says of condition errors, refusals and signals.
const (
	MaxFirstConditionErrors = 3
	MaxFirstSignals         = 3
	MaxSummaryText          = 512 // bytes of one's message
)
