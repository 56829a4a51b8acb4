package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// WorkKind says what is left to do. Values are recorded.
type WorkKind uint8

// The kinds of work that a decision leaves in hand.
const (
	WorkSpread WorkKind = 1  // what comes of a component, or cannot come, goes to its children
	WorkAdmit  WorkKind = 2  // runnables that are ready are admitted
	WorkCancel WorkKind = 3  // the run's runnables are closed
	WorkRearm  WorkKind = 4  // attempts that are open at the drain limit are closed, for resume
	WorkRetry  WorkKind = 5  // failed runnables are made ready again
	WorkRemove WorkKind = 6  // the run's rows are removed
	WorkClose  WorkKind = 7  // a nested scope in which nothing is open any more is closed
	WorkScopes WorkKind = 8  // a runnable opens the next of its scopes, or ends
	WorkRace   WorkKind = 9  // what a race has made pointless is cancelled
	WorkFold   WorkKind = 11 // a component folds results that have come early
	WorkDrop   WorkKind = 13 // inputs that have settled are forgotten
)

// Work is one piece of what a decision has left, to be carried on by later records.
type Work struct {
	Kind   WorkKind
	Cursor uint64 // as far as it is done: children of a component, or the last runnable

	// Of a spread. With a fact: it goes to the children, and to an else that the
	// component was taken. With parents: they go to the else, and to the children
	// that it was not taken. With neither: nothing comes, for the reason Dead.
	Component uint32 // index + 1; 0: the roots of the definition
	Scope     ScopeID
	Fact      FactID
	Parents   []FactID
	Dead      uint8
	Catchers  []uint32 // of a failure, which is Fact: the components that catch it; to all others nothing comes

	Retry    *RetryWork
	Runnable RunnableID // whose scopes
}

// RetryWork is which runnables a retry means.
type RetryWork struct {
	Through   RunnableID // the newest when it was asked for
	Component uint32     // index + 1; 0: any
	Runnables []RunnableID
	Input     json.RawMessage
	By        By
}

// Fields implements wire.Message.
func (w *Work) Fields(c *wire.Codec) {
	wire.Int(c, 1, "kind", &w.Kind)
	wire.Int(c, 2, "cursor", &w.Cursor)
	wire.Int(c, 3, "component", &w.Component)
	wire.Int(c, 4, "scope", &w.Scope)
	wire.Int(c, 5, "fact", &w.Fact)
	wire.Ints(c, 6, "parents", &w.Parents)
	wire.Int(c, 7, "dead", &w.Dead)
	wire.Optional(c, 8, "retry", &w.Retry)
	wire.Int(c, 9, "runnable", &w.Runnable)
	wire.Ints(c, 10, "catchers", &w.Catchers)
}

// Fields implements wire.Message.
func (r *RetryWork) Fields(c *wire.Codec) {
	wire.Int(c, 1, "through", &r.Through)
	wire.Int(c, 2, "component", &r.Component)
	wire.Ints(c, 3, "runnables", &r.Runnables)
	c.JSON(4, "input", &r.Input)
	wire.Nested(c, 5, "by", &r.By)
}

// WorkInHand says what a decision has left for later records of the workflow, and
// what of that which earlier ones had left is done.
type WorkInHand struct {
	Done   uint64 // of the work in hand, from the oldest
	Cursor uint64 // how far the oldest that remains is done; 0: not changed
	Added  []Work // behind what is in hand
}

func (*WorkInHand) number() int { return 38 }

// Fields implements wire.Message.
func (e *WorkInHand) Fields(c *wire.Codec) {
	wire.Int(c, 1, "done", &e.Done)
	wire.Int(c, 2, "cursor", &e.Cursor)
	wire.Repeated(c, 3, "added", &e.Added)
}

// WorkflowCancelling begins a cancellation that is more than one record's work:
// WorkflowCancelled ends it.
type WorkflowCancelling struct{ By By }

func (*WorkflowCancelling) number() int { return 39 }

// Fields implements wire.Message.
func (e *WorkflowCancelling) Fields(c *wire.Codec) { wire.Nested(c, 1, "by", &e.By) }

// WorkflowDeleting begins a deletion that is more than one record's work: for
// everybody outside the run is gone. WorkflowDeleted ends it.
type WorkflowDeleting struct {
	By   By
	Told []ReplyTo // those who waited for the workflow to drain
}

func (*WorkflowDeleting) number() int { return 40 }

// Fields implements wire.Message.
func (e *WorkflowDeleting) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "by", &e.By)
	wire.Repeated(c, 2, "told", &e.Told)
}

// RowsRemoved removes the first rows of one table of a run that is being deleted.
type RowsRemoved struct {
	Table uint8
	Rows  uint64
}

func (*RowsRemoved) number() int { return 41 }

// Fields implements wire.Message.
func (e *RowsRemoved) Fields(c *wire.Codec) {
	wire.Int(c, 1, "table", &e.Table)
	wire.Int(c, 2, "rows", &e.Rows)
}

func (w *Work) weight() int {
	n := leastEvent + len(w.Parents) + len(w.Catchers)
	if w.Retry != nil {
		n += len(w.Retry.Input) + len(w.Retry.Runnables) + w.Retry.By.weight()
	}
	return n
}
