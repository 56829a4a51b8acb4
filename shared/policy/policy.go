// Package policy says how a runnable is attempted: which rule applies to it, how often and when it is tried again,
// and what follows when it has failed for good. It is pure: rules and a subject in, a policy out.
//
// A Policy is resolved once, when a runnable is created, and recorded with it (Append, Parse), so that a later change of
// rules never alters work in flight.
package policy

import (
	"math"
	"strings"
	"time"
)

// Backoff is how the wait before the next attempt grows with the number of failed ones.
type Backoff uint8

// The backoffs. Values are recorded: never reuse or renumber one.
const (
	None        Backoff = 0 // no wait
	Linear      Backoff = 1 // min(base·a, max)
	Exponential Backoff = 2 // min(base·2^(a−1), max)
	Jitter      Backoff = 3 // uniform in 1ms…min(base·2^(a−1), max)
)

// OnFailure is what a runnable that has failed for good does to its workflow.
type OnFailure uint8

// The reactions to a failure. Values are recorded.
const (
	Halt OnFailure = 0 // the workflow fails, drains and admits nothing new
	Skip OnFailure = 1 // what depends on it is suppressed, the rest goes on
)

// OnLost is what follows when the worker of an attempt vanished and the outcome is unknown.
type OnLost uint8

// The reactions to a loss. Values are recorded.
const (
	RetryLost OnLost = 0 // a new attempt, outside MaxRetries, at most MaxLost times
	FailLost  OnLost = 1 // the runnable fails
	HoldLost  OnLost = 2 // the runnable is uncertain until somebody says what became of the attempt
	ProbeLost OnLost = 3 // a task, Probe, is asked what became of it
)

// Mode is where and when an attempt runs.
type Mode uint8

// The execution modes. Values are recorded.
const (
	Durable  Mode = 0 // published after its record is acknowledged
	Async    Mode = 1 // published together with its record
	External Mode = 2 // no executor: completed by its token
	Sync     Mode = 3 // inline in the planner; only for kinds that the planner evaluates itself
)

// Priority is the order in which the ready runnables of a workflow are admitted when there is not room for all.
type Priority uint8

// The priorities. Values are recorded.
const (
	Normal   Priority = 0
	Low      Priority = 1
	High     Priority = 2
	Critical Priority = 3
)

// Rank orders priorities: the lowest goes first.
func (p Priority) Rank() uint8 { return [...]uint8{Normal: 2, Low: 3, High: 1, Critical: 0}[p] }

// Defaults of a policy.
const (
	DefaultBaseDelay = 500 * time.Millisecond
	DefaultMaxDelay  = 30 * time.Second
	DefaultMaxLost   = 10
)

// Unbounded is a number of attempts that nothing bounds.
const Unbounded = math.MaxInt

// Policy is the resolved policy of one runnable. It is comparable; make one with Default or Resolve, since its zero
// value is not the default.
type Policy struct {
	MaxRetries   int // attempts = 1 + MaxRetries; may be Unbounded
	MaxLost      int // lost attempts that are replaced before the runnable fails
	BaseDelay    time.Duration
	MaxDelay     time.Duration
	Timeout      time.Duration // of one attempt, start to close; 0 = none
	StartTimeout time.Duration // from the dispatch of an attempt until a worker has begun it; 0 = none
	Deadline     time.Duration // of a runnable as a whole, from its creation or its retry by command; 0 = none
	Backoff      Backoff

	HeartbeatTimeout time.Duration // between two heartbeats of its own that a running attempt sends; 0 = none

	OnFailure    OnFailure
	OnLost       OnLost
	Mode         Mode
	Queue        string // overrides the queue of the task; empty = none
	Priority     Priority
	RetryIf      string   // the expression of a condition, which sees SeesFailure; empty = every failure is tried again
	NonRetryable string   // types of errors that are never tried again, as Final reads them
	Probe        Other    // with ProbeLost
	Fallback     string   // as ParseFallback reads it; empty = none
	Concurrency  KeyLimit // attempts at a time, of all workflows whose key is the same
	Rate         KeyLimit // attempts that begin in a time, likewise
	Breaker      Breaker  // stops attempts for a time once too many have failed

	Executor Executor // who runs the attempts; empty = as the deployment says of the queue

	IdempotencyKey string // the expression of what tasks are given by which they know a repetition, which sees SeesStep; empty = the runnable itself
}

// Final reports whether a failure of a type is never tried again.
func (p *Policy) Final(errorType string) bool {
	for list := p.NonRetryable; list != ""; {
		var one string
		if one, list, _ = strings.Cut(list, typesApart); one == errorType {
			return true
		}
	}
	return false
}

// Default is the policy of a task that no rule speaks of.
func Default() Policy {
	return Policy{MaxLost: DefaultMaxLost, BaseDelay: DefaultBaseDelay, MaxDelay: DefaultMaxDelay}
}

// DefaultOf is the policy of a component that no rule speaks of: Sync if the planner evaluates its kind, else Default.
func DefaultOf(evaluated bool) Policy {
	p := Default()
	if evaluated {
		p.Mode = Sync
	}
	return p
}
