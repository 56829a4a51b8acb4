package planner

import (
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// kind is what a component of one kind does: one file for each, kind_NAME.go.
type kind interface {
	// arrive runs a component that is taken, or a runnable of it that is retried.
	arrive(invocation)
	// wake goes on with a runnable whose time has come.
	wake(invocation)
	// waitsForTime says what a runnable waits for that has a timer.
	waitsForTime(*definition.Component, *runnable) string
	traits() traits
}

// traits are what the rest of the planner asks of a kind.
type traits struct {
	queued    bool // its runnables are attempted, and wait for that in the admission queue
	transient bool // it makes no values of its own: productions leave it out
	counted   bool // one that fails and is skipped is counted: nothing else tells of it
}

// kinds has one line per kind.
var kinds = [...]kind{
	definition.Step:      stepKind{},
	definition.Expr:      exprKind{},
	definition.Condition: conditionKind{},
	definition.Sleep:     sleepKind{},
}

// evaluated is what kinds have in common that are over as soon as they arrive.
type evaluated struct{}

func (evaluated) traits() traits { return traits{} }

func (evaluated) wake(i invocation) { panic("a timer for " + i.c.Kind.String() + ", which has none") }

func (evaluated) waitsForTime(*definition.Component, *runnable) string { return "" }

// invocation is one component in one scope, with what arrived there. It is all that
// a kind sees of a workflow.
type invocation struct {
	t  *turn
	c  *definition.Component
	id events.RunnableID // of a runnable that is retried or woken; else 0
	activation
}

// invoked is the invocation that a runnable came of.
func (t *turn) invoked(id events.RunnableID) invocation {
	r := t.runs.get(id)
	return invocation{t, t.component(r.Component), id, activation{scope: r.Scope, parents: r.Parents, depth: r.Depth, input: r.Input}}
}

func (i invocation) kind() kind { return kinds[i.c.Kind] }

// env is what the component's expressions see.
func (i invocation) env() expr.Env { return i.t.contexts.env(i.c, i.activation) }

// value is what arrived.
func (i invocation) value() json.RawMessage { return i.t.facts.value(i.c, i.activation) }

// asFact reports whether what arrived is a fact that can be passed on as it is: no
// value of a join, none that results show as this component's, none that was retried.
func (i invocation) asFact() bool { return i.id == 0 && i.t.facts.isFact(i.c) && !i.t.outputs.has(i.c) }

// passOn sends the fact that arrived on.
func (i invocation) passOn() { i.t.flow.yield(i.c, i.scope, i.parents[0]) }

// produce makes the component's fact.
func (i invocation) produce(value json.RawMessage) {
	t := i.t
	f := t.nextFact()
	if i.id != 0 {
		t.emit(&events.RunnableCompleted{Runnable: i.id, Fact: f, Value: value, Started: t.now, Finished: t.now})
	} else {
		t.emit(&events.FactProduced{Fact: f, Component: uint32(i.c.Index), Scope: i.scope, Parents: i.parents, Value: value})
	}
	t.flow.yield(i.c, i.scope, f)
}

// passBy ends an invocation that is not taken: its value goes to the component's
// else, and the news to its children.
func (i invocation) passBy() {
	if i.id != 0 {
		i.t.emit(&events.RunnableSkipped{Runnable: i.id})
	}
	i.t.flow.passBy(i.c, i.activation)
}

// fail ends an invocation that an expression made impossible. It is never retried by
// itself: the same values would fail again.
func (i invocation) fail(err error) {
	pol := i.policy()
	if i.id == 0 {
		i.id = i.ready(pol.Append(nil))
	}
	i.t.ends.failFor(i.id, events.TaskError{Type: events.ErrorExpression, Message: err.Error(), NonRetryable: true}, "", failedAttempt)
}

// policy is resolved for this invocation.
func (i invocation) policy() policy.Policy { return i.t.policyFor(i.c, i.activation) }

// ready makes the runnable.
func (i invocation) ready(policy []byte) events.RunnableID {
	id := i.t.nextRunnable()
	i.t.emit(&events.RunnableReady{
		Runnable: id, Component: uint32(i.c.Index), Scope: i.scope, Parents: i.parents, Depth: i.depth, Policy: policy,
	})
	return id
}

// wait makes the runnable wait for its time.
func (i invocation) wait(d time.Duration) {
	if i.id == 0 {
		i.id = i.ready(nil)
	}
	i.t.emit(&events.TimerArmed{Runnable: i.id, Due: i.t.now + d.Milliseconds()})
}

// endWait makes a fact of what arrived, when the time that the runnable waited for has come.
func (i invocation) endWait() {
	t := i.t
	if t.misfit != nil {
		t.ends.failFor(i.id, events.TaskError{Type: t.misfit.typ, Message: "the " + i.c.Kind.String() + " is over", NonRetryable: true}, "", failedAttempt)
		return
	}
	f := t.nextFact()
	t.emit(&events.TimerFired{Runnable: i.id, Fact: f})
	t.flow.yield(i.c, i.scope, f)
}

// wakeUp takes a runnable whose time has come back into the admission queue.
func (i invocation) wakeUp() {
	i.t.emit(&events.TimerFired{Runnable: i.id})
	i.lineUp()
}

// enqueue makes a runnable that will be attempted, and lines it up for admission.
// External attempts take no room and need not wait for it.
func (i invocation) enqueue() {
	t, pol := i.t, i.policy()
	id := i.ready(pol.Append(nil))
	if pol.Mode == policy.External && t.head.Status == Running {
		t.dispatch(id)
		return
	}
	t.queue.fresh = append(t.queue.fresh, readyEntry{pol.Priority.Rank(), i.depth, id})
}

// lineUp lets a runnable that is ready be admitted in this record.
func (i invocation) lineUp() {
	i.t.queue.fresh = append(i.t.queue.fresh, i.t.runs.get(i.id).place(i.id))
}
