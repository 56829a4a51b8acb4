package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// fact is a value that exists, with the attempt that produced it, if one did.
type fact struct {
	Component uint32 // index + 1; 0 = an input
	Scope     events.ScopeID
	Parents   []events.FactID
	Depth     uint32
	Time      int64
	Value     json.RawMessage
	Runnable  events.RunnableID
	Attempt   uint32
	Past      []pastAttempt
	Executor  string
	Started   int64
	Finished  int64
	Opened    *opened     // the nested scope that it opened; nil: none
	Failure   bool        // a failure of its component, for what catches it: no value of the component
	Partial   bool        // of a reduce that has more to fold: it is no production
	Fell      policy.Form // of the fallback that it came of; 0: of none
}

// Fields implements wire.Message.
func (f *fact) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &f.Component)
	wire.Int(c, 2, "scope", &f.Scope)
	wire.Ints(c, 3, "parents", &f.Parents)
	wire.Int(c, 4, "depth", &f.Depth)
	wire.Int(c, 5, "time", &f.Time)
	c.JSON(6, "value", &f.Value)
	wire.Int(c, 7, "runnable", &f.Runnable)
	wire.Int(c, 8, "attempt", &f.Attempt)
	wire.Repeated(c, 9, "past", &f.Past)
	wire.String(c, 10, "executor", &f.Executor)
	wire.Int(c, 11, "started", &f.Started)
	wire.Int(c, 12, "finished", &f.Finished)
	wire.Optional(c, 13, "opened", &f.Opened)
	c.Bool(14, "failure", &f.Failure)
	c.Bool(15, "partial", &f.Partial)
	wire.Int(c, 45, "fell", &f.Fell)
}

// runnable is one activation that has not completed.
type runnable struct {
	Scope     events.ScopeID
	Parents   []events.FactID
	Policy    []byte
	Component uint32
	Depth     uint32
	Attempt   uint32 // the number of the current or last attempt
	Failures  uint32 // failed attempts that count for retries
	Losses    uint32
	Returns   uint32 // times handed back by workers that did not know the task, or had not begun
	Context   uint32 // of the open attempt: the number of the workflow's context that it has
	Status    RunnableStatus
	External  bool
	Notified  bool
	Detached  bool
	Beside    bool           // other attempts of the workflow were open when it was dispatched
	For       events.Purpose // of the open attempt, or of the next one
	Fell      policy.Form    // of the fallback that was applied; 0: none was
	Returned  string         // what the last of them said that handed it back; empty: nothing
	Decided   events.Position
	Created   int64
	Due       int64 // of the timer it waits for; 0 = of none
	Deadline  int64 // of the open attempt, once it runs; 0 = none
	Since     int64 // of the dispatch
	Input     json.RawMessage
	Error     *events.TaskError
	Heartbeat json.RawMessage
	Queue     string
	Executor  string
	Past      []pastAttempt
	Fanned    *fanned          // its own scopes; nil: it has none
	Racing    []events.ScopeID // of races that may make it pointless: it has a row for each
	Wait      *wait            // what it waits for besides a time; nil: for nothing
	Limits    *limits          // of time, besides that of its open attempt; nil: there are none
	Doubt     *doubt           // the attempt that was lost and of which nobody knows what became; nil: there is none
	Permit    *permit          // of a key: what it waits for, or what its attempt holds; nil: it needs none
	Work      *events.Began    // the attempt that began the work which the last attempt goes on with; nil: that has begun it itself
	Told      int64            // Unix ms when a worker first said that it has the open attempt; 0: none has
	Reason    string           // of the open attempt's delivery: the channel of that word, or what a worker said of it since
	Pool      string           // id of the pool that has the open attempt; empty: its task went to workers of its queue
	Shard     string           // id of the shard of its pool that has free slots for the next attempt; empty: none is known to have
	Key       string           // idempotency key of all attempts, by its policy; empty: it gives none, or there was no attempt yet
	Kept      *keptCount       // of what its attempts keep; nil: they keep nothing
	Alarm     int64            // Unix ms: of the open attempt, should it sleep, or of the one that does; 0: none is set
}

// Fields implements wire.Message.
func (r *runnable) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &r.Component)
	wire.Int(c, 2, "scope", &r.Scope)
	wire.Ints(c, 3, "parents", &r.Parents)
	wire.Int(c, 4, "depth", &r.Depth)
	c.Bytes(5, "policy", &r.Policy)
	wire.Int(c, 6, "status", &r.Status)
	wire.Int(c, 7, "attempt", &r.Attempt)
	wire.Int(c, 8, "failures", &r.Failures)
	wire.Int(c, 9, "losses", &r.Losses)
	wire.Int(c, 10, "returns", &r.Returns)
	wire.Nested(c, 11, "decided", &r.Decided)
	wire.Int(c, 12, "created", &r.Created)
	wire.Int(c, 13, "due", &r.Due)
	wire.Int(c, 14, "deadline", &r.Deadline)
	c.JSON(15, "input", &r.Input)
	wire.Optional(c, 16, "error", &r.Error)
	c.JSON(17, "heartbeat", &r.Heartbeat)
	wire.String(c, 18, "queue", &r.Queue)
	wire.String(c, 19, "executor", &r.Executor)
	c.Bool(20, "external", &r.External)
	wire.Repeated(c, 21, "past", &r.Past)
	wire.Int(c, 22, "since", &r.Since)
	c.Bool(23, "notified", &r.Notified)
	c.Bool(24, "detached", &r.Detached)
	c.Bool(25, "beside", &r.Beside)
	wire.Int(c, 26, "context", &r.Context)
	wire.String(c, 27, "returned", &r.Returned)
	wire.Optional(c, 28, "fanned", &r.Fanned)
	wire.Ints(c, 29, "racing", &r.Racing)
	wire.Optional(c, 40, "wait", &r.Wait)
	wire.Optional(c, 41, "limits", &r.Limits)
	wire.Int(c, 45, "for", &r.For)
	wire.Int(c, 46, "fell", &r.Fell)
	wire.Optional(c, 47, "doubt", &r.Doubt)
	wire.Optional(c, 50, "permit", &r.Permit)
	wire.String(c, 55, "key", &r.Key)
	wire.Optional(c, 56, "work", &r.Work)
	wire.Int(c, 57, "told", &r.Told)
	wire.String(c, 58, "reason", &r.Reason)
	wire.Name(c, 59, "pool", &r.Pool)
	wire.Optional(c, 60, "kept", &r.Kept)
	wire.Int(c, 61, "alarm", &r.Alarm)
	wire.Name(c, 65, "shard", &r.Shard)
}

// Touch implements rows.Touched: a field of each cache line of the row, and what its outcome
// looks at behind it.
func (r *runnable) Touch() uint64 {
	sum := uint64(r.Component) + r.Decided.Seq + uint64(r.Since) + uint64(len(r.Queue)) + uint64(len(r.Racing))
	if len(r.Parents) > 0 {
		sum += uint64(r.Parents[0])
	}
	if len(r.Policy) > 0 {
		sum += uint64(r.Policy[0])
	}
	return sum
}

// OpenAttempt implements machine.Watched.
func (r *runnable) OpenAttempt() (machine.Attempt, bool) {
	if r.Status != runActive || r.External {
		return machine.Attempt{}, false
	}
	return machine.Attempt{
		Attempt: r.Attempt, Decided: r.Decided, Queue: r.Queue, Since: r.Since, Notified: r.Notified, Detached: r.Detached,
		NotifiedAt: r.Told, Pool: r.Pool, Waits: r.reason().Waits(), Deferred: r.reason() == delivery.LeaderMissingDeferred,
	}, true
}

// pastAttempt is a closed attempt that did not complete.
type pastAttempt struct {
	Attempt uint32
	Outcome string // failed, timed_out, lost, cancelled; slept; answered: of a probe
	Error   events.TaskError
	Time    int64 // Unix ms
	For     events.Purpose
}

// Fields implements wire.Message.
func (a *pastAttempt) Fields(c *wire.Codec) {
	wire.Int(c, 1, "attempt", &a.Attempt)
	wire.String(c, 2, "outcome", &a.Outcome)
	wire.Nested(c, 3, "error", &a.Error)
	wire.Int(c, 4, "time", &a.Time)
	wire.Int(c, 5, "for", &a.For)
}

// join counts what has come and what cannot come any more to the arms of a
// component in one scope.
type join struct {
	Arrived uint32
	Dead    uint32
	Closed  bool // fired or dead itself: later arms change nothing
}

// Fields implements wire.Message.
func (j *join) Fields(c *wire.Codec) {
	wire.Int(c, 1, "arrived", &j.Arrived)
	wire.Int(c, 2, "dead", &j.Dead)
	c.Bool(3, "closed", &j.Closed)
}

// arm is the fact that arrived at one arm of a join, or what came of an element at that of a reduce.
type arm struct {
	Fact  events.FactID
	Dead  cause             // why nothing came of the element; 0: something did
	Error *events.TaskError // which it failed with
}

// Fields implements wire.Message.
func (a *arm) Fields(c *wire.Codec) {
	wire.Int(c, 1, "fact", &a.Fact)
	wire.Int(c, 2, "dead", &a.Dead)
	wire.Optional(c, 3, "error", &a.Error)
}

// suppression is an activation that did not happen, because something it needs
// failed or was skipped.
type suppression struct {
	Component uint32
	Scope     events.ScopeID
}

// Fields implements wire.Message.
func (s *suppression) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &s.Component)
	wire.Int(c, 2, "scope", &s.Scope)
}

func runnableKey(wf string, id events.RunnableID) rows.Key {
	return rows.Key{Table: rows.Runnable, Workflow: wf, A: uint64(id)}
}

func joinKey(wf string, s events.ScopeID, component uint32) rows.Key {
	return rows.Key{Table: rows.Join, Workflow: wf, A: uint64(s), B: uint64(component)}
}

func armKey(wf string, s events.ScopeID, component, n uint32) rows.Key {
	return rows.Key{Table: rows.Arm, Workflow: wf, A: uint64(s), B: uint64(component), C: uint64(n)}
}

func suppressedKey(wf string, n uint64) rows.Key {
	return rows.Key{Table: rows.Suppressed, Workflow: wf, A: n}
}

func timerKey(wf string, due int64, id events.RunnableID, kind uint64) rows.Key {
	return rows.Key{Table: rows.Timer, Workflow: wf, A: uint64(due), B: uint64(id), C: kind}
}
