package client

import (
	"context"
	"encoding/json"
)

// Transport is a way to reach a deployment: HTTP in this package, Kafka in
// sdk/kafkaclient. It is for these two, and gets what they need without notice.
// Its errors are *Error, those of the context, or faults.
type Transport interface {
	Command(ctx context.Context, c Command) (Answer, error)
	Query(ctx context.Context, q Query) (json.RawMessage, error)
	Await(ctx context.Context, workflow string) (Answer, error) // until it has drained
	History(ctx context.Context, workflow, cursor string, limit int) (json.RawMessage, error)
	Events(ctx context.Context, workflow string, yield func(Event) bool) error
	Define(ctx context.Context, name string, source []byte) (*Definition, error)
	Defined(ref string) (digest string, canonical []byte) // by this client; empty when a start does not need it
	Prepare(ctx context.Context, inline string) error     // what a start needs of an inline definition
	List(ctx context.Context, f Filter) (json.RawMessage, error)
	Keys(ctx context.Context, f KeyFilter) (json.RawMessage, error)
	Definitions(ctx context.Context, cursor string, limit int) (json.RawMessage, error)
	Versions(ctx context.Context, name string) (json.RawMessage, error)
	Readiness(ctx context.Context) (json.RawMessage, error)
	Graph(ctx context.Context, workflow, format string) ([]byte, error)
	Close() error
}

// Command is a command on its way to a planner.
type Command struct {
	Name     string
	Workflow string
	ID       string // idempotency key; empty: a new one
	Token    string // of the attempt that it is about, or empty
	Signal   string // its name, or empty
	Runner   string // of a pool: its ID or key, or empty
	Body     []byte // the JSON object, without the token, the signal's name and the runner
	Wait     Wait
}

// Answer is what a command led to. Workflow and Results are as far as known.
type Answer struct {
	Workflow *Workflow
	Results  map[string]json.RawMessage
	Drained  bool
	Written  bool // Kafka has the command, and no planner has answered in time

	Unchanged bool // a command has changed nothing: it was so already
}

// Query is a read.
type Query struct {
	Kind     string
	Workflow string
	All      bool
	Cursor   string
	Limit    int

	Status, Component string // runnables: only those

	Run    string          // of what is archived: which of the workflow's runs
	Body   json.RawMessage // QueryRestore
	Filter *Filter         // QueryArchive: which are listed; its page is Cursor and Limit
	Queue  string          // dispatches: only those of a task queue

	Attempt string // pool: the token of an attempt that is asked for
}
