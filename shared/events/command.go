package events

import (
	"encoding/json"
	"maps"
	"slices"
)

// Command is what a client or another system asks of a workflow or partition.
type Command struct {
	Name     string
	Workflow string
	Source   string // of the id; with it the dedupe key
	ID       string // given by the sender, or the record's place
	ReplyTo  ReplyTo
	Trace    string // traceparent
	Digest   uint64 // of name and body: what a repeated id must repeat
	Written  int64  // Unix ms: the first stamp of a command that was forwarded; 0: it was not
	Body     CommandBody
}

// DedupeID is the key of the command in its workflow's ledger.
func (c *Command) DedupeID() string { return c.Source + "\x00" + c.ID }

// CommandBody is the content of a command: a closed set.
//
//sumtype:decl
type CommandBody interface{ check() *CommandError }

// StartWorkflow begins a run. Definition is a JSON string (a name, name@version
// or digest) or an inline definition.
type StartWorkflow struct {
	Definition json.RawMessage `json:"definition"`
	Input      json.RawMessage `json:"input"` // absent: no input yet
	Policies   json.RawMessage `json:"policies"`
	Options    json.RawMessage `json:"options"`
	Context    json.RawMessage `json:"context"`
	Own        json.RawMessage `json:"component_context"` // by component, what it alone is given
	By
}

// FeedInput gives a running workflow an input.
type FeedInput struct {
	Input    json.RawMessage `json:"input"`
	Policies json.RawMessage `json:"policies"`
	Mode     string          `json:"mode"` // merge (default) or replace
	Context  json.RawMessage `json:"context"`
	By
}

// SignalWorkflow gives a value to a component that waits for a signal, or to one that
// will.
type SignalWorkflow struct {
	Name  string          `json:"name"`
	Key   string          `json:"key"`
	Input json.RawMessage `json:"input"` // the value; absent: null
	By
}

// PauseWorkflow stops admission.
type PauseWorkflow struct{ By }

// ResumeWorkflow admits again after pause or stop.
type ResumeWorkflow struct {
	Policies json.RawMessage `json:"policies"`
	Context  json.RawMessage `json:"context"`
	By
}

// StopWorkflow drains and stops.
type StopWorkflow struct {
	Drain   Duration `json:"drain"`
	Persist *bool    `json:"persist"`
	By
}

// CancelWorkflow ends the run.
type CancelWorkflow struct{ By }

// RetryRunnables makes failed runnables ready again: all, the named ones, or
// those of a component, there with an edited input.
type RetryRunnables struct {
	Runnable  string          `json:"runnable"`
	Runnables []string        `json:"runnables"`
	Component string          `json:"component"`
	Input     json.RawMessage `json:"input"`
	By
}

// SkipRunnable gives up a runnable.
type SkipRunnable struct {
	Runnable string `json:"runnable"`
	By
}

// SetPolicies replaces the rules that were given with the workflow. Runnables that exist keep
// their policy.
type SetPolicies struct {
	Policies json.RawMessage `json:"policies"` // a list; an empty one takes them away
	By
}

// MigrateWorkflow lets a run go on with another definition: a JSON string (a name, name@version
// or digest) or an inline definition.
type MigrateWorkflow struct {
	Definition json.RawMessage `json:"definition"`
	By
}

// CheckpointWorkflow makes the workflow's changed rows due now.
type CheckpointWorkflow struct{ By }

// DeleteWorkflow removes a closed run; Force cancels first.
type DeleteWorkflow struct {
	Force bool `json:"force"`
	By
}

// CompleteAttempt gives the result of an attempt by its token.
type CompleteAttempt struct {
	Token  string          `json:"token"`
	Result json.RawMessage `json:"result"`
}

// FailAttempt fails an attempt by its token.
type FailAttempt struct {
	Token string         `json:"token"`
	Error AttemptFailure `json:"error"`
}

// AttemptFailure is the public form of a TaskError.
type AttemptFailure struct {
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	Retryable *bool           `json:"retryable"` // default true
	Details   json.RawMessage `json:"details"`
}

// TaskError converts to the internal form.
func (f AttemptFailure) TaskError() TaskError {
	typ := f.Type
	if typ == "" {
		typ = ErrorTaskFailed
	}
	return TaskError{Type: typ, Message: f.Message, NonRetryable: f.Retryable != nil && !*f.Retryable, Details: f.Details}
}

// HeartbeatAttempt says that somebody still works on an attempt.
type HeartbeatAttempt struct {
	Token   string          `json:"token"`
	Details json.RawMessage `json:"details"`
}

// KeepKeys changes the keys and values that an attempt keeps, all or none: what of it is deleted goes first.
type KeepKeys struct {
	Token  string          `json:"token"`
	Delete []string        `json:"delete"`
	Put    []KeptCandidate `json:"put"` // of a key that comes twice the last value counts
}

// KeptCandidate is a key that an attempt wants to keep, with its value.
type KeptCandidate struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// StopRunner is an operator's word that a runner of a pool gets no more work and ends once it has none.
type StopRunner struct {
	Runner string `json:"runner"` // id, or the key that it connects with
	Now    bool   `json:"now"`    // what it has is lost at once
	By
}

// ReleasePartition is an operator's word that a lease does not hold.
type ReleasePartition struct{ By }

// MarkPartitionStale is an operator's word that an owner is not to be trusted. Without a
// reason the lease is stale for why the operator says so.
type MarkPartitionStale struct {
	Reason string `json:"reason"`
	By
}

// ReplayPartition rewinds the reading of an input log: TOPIC@OFFSET, or empty
// to clear the request.
type ReplayPartition struct {
	Cursor string `json:"cursor"`
	By
}

// RemoveDispatch is an operator's word that dispatch records which have ended are to be forgotten: all of them, or
// none if one cannot be.
type RemoveDispatch struct {
	IDs []string `json:"ids"` // request ids
	By
}

// AcceptLoss is an operator's word that records of a log are gone and the partition goes
// on without them: From inclusive, To exclusive. It counts for exactly these.
type AcceptLoss struct {
	Log  string `json:"log"` // commands, inbox or journal
	From int64  `json:"from"`
	To   int64  `json:"to"`
	By
}

// LossLogs are the names of the logs whose losses an operator accepts.
func LossLogs() []string { return []string{FromCommands.String(), FromInbox.String(), JournalLog} }

// JournalLog is the name of the journal in AcceptLoss.
const JournalLog = "journal"

// CommandNames are the names of all commands, ascending.
func CommandNames() []string { return slices.Sorted(maps.Keys(bodies)) }

// Names of all commands, and how each body is made.
var bodies = map[string]func() CommandBody{
	"start":         func() CommandBody { return &StartWorkflow{} },
	"input":         func() CommandBody { return &FeedInput{} },
	"signal":        func() CommandBody { return &SignalWorkflow{} },
	"pause":         func() CommandBody { return &PauseWorkflow{} },
	"resume":        func() CommandBody { return &ResumeWorkflow{} },
	"stop":          func() CommandBody { return &StopWorkflow{} },
	"cancel":        func() CommandBody { return &CancelWorkflow{} },
	"retry":         func() CommandBody { return &RetryRunnables{} },
	"skip":          func() CommandBody { return &SkipRunnable{} },
	"set_policies":  func() CommandBody { return &SetPolicies{} },
	"migrate":       func() CommandBody { return &MigrateWorkflow{} },
	"checkpoint":    func() CommandBody { return &CheckpointWorkflow{} },
	"delete":        func() CommandBody { return &DeleteWorkflow{} },
	"complete":      func() CommandBody { return &CompleteAttempt{} },
	"fail":          func() CommandBody { return &FailAttempt{} },
	"heartbeat":     func() CommandBody { return &HeartbeatAttempt{} },
	"keep":          func() CommandBody { return &KeepKeys{} },
	"stop_runner":   func() CommandBody { return &StopRunner{} },
	"force_release": func() CommandBody { return &ReleasePartition{} },
	"mark_stale":    func() CommandBody { return &MarkPartitionStale{} },
	"accept_loss":   func() CommandBody { return &AcceptLoss{} },
	"request_replay": func() CommandBody {
		return &ReplayPartition{}
	},
	"remove_dispatch": func() CommandBody { return &RemoveDispatch{} },
}
