package gateway

import (
	"encoding/json"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// The shapes of answers. Bodies that planners made are passed on as they are;
// their types here describe them, and a test holds them against each other.

// Workflow is the summary of a workflow.
type Workflow struct {
	events.Summary
	Owner *owner `json:"owner"`

	Archived *archivedAs `json:"archived,omitempty"` // of a list with archived=true: it is kept outside Kafka, and the deployment has it no more
}

// ArchivedWorkflow is the summary of a run that is kept outside Kafka.
type ArchivedWorkflow struct {
	events.Summary
	Archived archivedAs `json:"archived"`
}

// archivedAs says how a run is kept.
type archivedAs struct {
	Run     string `json:"run"`               // which of the workflow's runs it is
	Entries uint64 `json:"entries"`           // records that are kept
	Over    bool   `json:"over"`              // nothing follows
	Deleted bool   `json:"deleted,omitempty"` // the deployment has it no more
	Lacks   bool   `json:"lacks,omitempty"`   // its first records were in no journal any more when it was archived
	Why     string `json:"why,omitempty"`     // the summary is not what its planner would say
}

// ArchivedRun is a run that is kept outside Kafka.
type ArchivedRun struct {
	Workflow ArchivedWorkflow `json:"workflow"`
	Results  json.RawMessage  `json:"results"` // null where they are not known
}

// Started answers a start or input that was waited for.
type Started struct {
	Workflow json.RawMessage `json:"workflow"`
	Results  json.RawMessage `json:"results"` // null until drained
}

// Accepted answers what is safe in Kafka and not decided or drained yet.
type Accepted struct {
	ID       string          `json:"id"`         // of the workflow
	Command  string          `json:"command_id"` // repeat it under this Idempotency-Key
	Href     string          `json:"href"`       // where to look
	Workflow json.RawMessage `json:"workflow"`   // as far as known
	Results  json.RawMessage `json:"results"`
}

// Controlled answers a control command.
type Controlled struct {
	Result   string          `json:"result"` // done or no_change
	Workflow json.RawMessage `json:"workflow"`
}

// Results are the values of the outputs.
type Results struct {
	Status  string                     `json:"status"`
	Results map[string]json.RawMessage `json:"results"`
}

// Productions are all values by component.
type Productions struct {
	Productions map[string][]json.RawMessage `json:"productions"`
}

// List is one page of a list; Next is null on the last one.
type List[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"`

	// LookedAt is how many were looked at, where the page ends because they are enough for
	// one request, and not because it is full: what is wanted may be behind it.
	LookedAt int `json:"looked_at,omitempty"`
}

// Explanation says why a workflow is where it is: what holds it as a whole, and the runnables
// that are open or have failed, each with what it waits for.
type Explanation[T any] struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons"`
	List[T]
}

// Fact is a fact.
type Fact struct {
	ID        string          `json:"id"`
	Component *string         `json:"component"` // null: an input
	Value     json.RawMessage `json:"value"`
	Parents   []string        `json:"parents"`
	Scope     string          `json:"scope"`
	Time      string          `json:"time"`
}

// Runnable is a runnable with its attempts.
type Runnable struct {
	ID        string            `json:"id"`
	Component string            `json:"component"`
	Task      string            `json:"task"`
	Queue     string            `json:"queue"`
	Status    string            `json:"status"`
	Attempt   uint32            `json:"attempt"`
	Token     *string           `json:"token"`
	Input     json.RawMessage   `json:"input"`
	Result    json.RawMessage   `json:"result"`
	Error     *events.TaskError `json:"error"`
	DueAt     *string           `json:"due_at"`
	Scope     string            `json:"scope"`                     // the input, and an index for each map or loop around it, as f12/3/0
	Element   *uint64           `json:"element"`                   // the last of these indexes; null: it is in none
	Created   *string           `json:"created_at"`                // null where that is not kept, as of completed ones
	Sent      *string           `json:"dispatched_at"`             // of its newest attempt; likewise
	WaitsFor  string            `json:"waits_for,omitempty"`       // of one that is ready, waiting or active: what for, in words
	Executor  string            `json:"executor,omitempty"`        // that runs it, once it has said so
	Pool      string            `json:"pool,omitempty"`            // of runners, that was offered its open attempt
	Fallback  string            `json:"fallback,omitempty"`        // the form of the fallback that was applied
	Key       string            `json:"idempotency_key,omitempty"` // where its policy gives one, of one that is not completed
	Kept      *Kept             `json:"kept,omitempty"`            // what its attempts keep; absent: nothing
	Attempts  []json.RawMessage `json:"attempts"`
}

// Kept is how much the attempts of a runnable keep for the next ones.
type Kept struct {
	Keys  uint64 `json:"keys"`
	Bytes uint64 `json:"bytes"` // of keys and values
}

// HistoryItem is one event, with its own fields besides these.
type HistoryItem struct {
	Position string `json:"position"`
	Time     string `json:"time"`
	Type     string `json:"type"`
}

// Definition is a registered definition.
type Definition struct {
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Digest   string          `json:"digest"`
	Replaces string          `json:"replaces,omitempty"`   // of a registration: the digest that this version meant before
	Warnings []FieldError    `json:"warnings,omitempty"`   // likewise
	Source   json.RawMessage `json:"definition,omitempty"` // the canonical form, when it was asked for
}

// Version is one definition of a name.
type Version struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Digest       string `json:"digest"`
	RegisteredAt string `json:"registered_at"`

	Open *OpenWorkflows `json:"open_workflows"` // null while the list of workflows is made again
}

// NamedDefinition is what a name means now, and what is registered under it.
type NamedDefinition struct {
	Version
	Versions int            `json:"versions"`           // how many there are
	AllOpen  *OpenWorkflows `json:"all_open_workflows"` // of all versions
}

// OpenWorkflows is how many workflows that are not closed use a definition.
type OpenWorkflows struct {
	Count   uint64 `json:"count"`
	AtLeast bool   `json:"at_least"` // there are too many open workflows to count them all
}

// Graph is a graph as JSON.
type Graph struct {
	Digest     string            `json:"digest"`
	Name       string            `json:"name"`
	Components []json.RawMessage `json:"components"`
	Edges      []json.RawMessage `json:"edges"`
	Outputs    map[string]string `json:"outputs"`
}

type (
	// DeploymentReadiness is what the readiness service published of all partitions.
	DeploymentReadiness struct{ runtime.Aggregate }
	// PartitionReadiness is what it published of one.
	PartitionReadiness struct{ runtime.Snapshot }
	// Place is where a workflow lives.
	Place struct {
		ID        string            `json:"id"`
		Partition int32             `json:"partition"`
		Owner     *owner            `json:"owner"`     // null: nobody is known to own the partition
		Readiness runtime.Readiness `json:"readiness"` // of the partition
	}
	// Queue counts the open attempts of a task queue.
	Queue = runtime.Queue
)

// anyObject and anyDocument have no fields of their own.
type (
	anyObject   struct{}
	anyDocument struct{}
)

// The bodies of task routes: the token is in the path.
type (
	completeBody struct {
		Result json.RawMessage `json:"result"`
	}
	failBody struct {
		Error events.AttemptFailure `json:"error"`
	}
	heartbeatBody struct {
		Details json.RawMessage `json:"details,omitempty"`
	}
)

// signalBody is the body of a signal: the name is in the path.
type signalBody struct {
	Key   string          `json:"key,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	events.By
}

// stopRunnerBody is the body of the stop of a runner: the pool and the runner are in the path.
type stopRunnerBody struct {
	Now bool `json:"now,omitempty"`
	events.By
}

var null = json.RawMessage("null")

// orNull makes what is absent a JSON null.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return null
	}
	return raw
}
