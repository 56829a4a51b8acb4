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
	traits(*definition.Component) traits
}

// traits are what the rest of the planner asks of a kind.
type traits struct {
	queued    bool // its runnables are attempted, and wait for that in the admission queue
	transient bool // it makes no values of its own: productions leave it out
	hidden    bool // what it makes goes into scopes of its own, or says how that went: productions leave it out
	counted   bool // one that fails and is skipped is counted: nothing else tells of it
}

func traitsOf(c *definition.Component) traits { return kinds[c.Kind].traits(c) }

// kinds has one line per kind.
var kinds = [...]kind{
	policy.KindStep:      stepKind{},
	policy.KindExpr:      exprKind{},
	policy.KindCondition: conditionKind{},
	policy.KindSleep:     sleepKind{},
	policy.KindRule:      ruleKind{},
	policy.KindMap:       mapKind{},
	policy.KindReduce:    reduceKind{},
	policy.KindUntil:     untilKind{},
	policy.KindIdleFor:   idleForKind{},
	policy.KindSignal:    signalKind{},

	policy.KindAccumulate:   accumulateKind{},
	policy.KindStateMachine: stateMachineKind{},
}

// evaluated is what kinds have in common that are over as soon as they arrive.
type evaluated struct{}

func (evaluated) traits(*definition.Component) traits { return traits{} }

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

// work is the kind that does the work of a component that has parts.
func (i invocation) work() kind { return kinds[i.c.Work()] }

// do runs a part of a kind, or lets the component fail by itself if that takes more than
// one may: whatever else the decision is of goes on.
func (i invocation) do(part func(invocation)) { i.doOver(i.size(), part) }

// doOver does a part over values of so many bytes.
func (i invocation) doOver(bytes int, part func(invocation)) {
	if over := i.t.spend.evaluate(bytes, func() { part(i) }); over != nil {
		i.exceed(over)
	}
}

// arrive runs the component, if it is taken. What is retried before it has begun may
// have failed because nobody could tell.
func (i invocation) arrive() {
	if i.c.When != nil && !i.begun() && i.c.Join != definition.Catch { // that has been asked as the failure was caught
		holds, err := i.c.When.Holds(i.env())
		if err != nil {
			i.fail(err)
			return
		}
		if !holds {
			i.passBy()
			return
		}
	}
	i.kind().arrive(i)
}

// begun reports whether the component was taken, and has had an attempt or scopes of its own.
func (i invocation) begun() bool {
	if i.id == 0 {
		return false
	}
	r := i.t.runs.get(i.id)
	return r.Attempt > 0 || r.Fanned != nil
}

// wake goes on with a runnable whose time has come.
func (i invocation) wake() { i.kind().wake(i) }

// size is how many bytes of values arrived.
func (i invocation) size() (n int) {
	if !i.t.spend.limited {
		return 0
	}
	if i.c.Accumulate != nil {
		n = len(i.t.states.value(i.c))
	}
	if len(i.input) > 0 {
		return n + len(i.input)
	}
	for _, id := range i.parents {
		if id != 0 {
			n += len(i.t.facts.get(id).Value)
		}
	}
	return n
}

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
	t.spend.holds(len(value))
	f := t.nextFact()
	switch {
	case i.id != 0:
		t.emit(&events.RunnableCompleted{Runnable: i.id, Fact: f, Value: value, Started: t.now, Finished: t.now})
	case i.c.Accumulate != nil:
		t.emit(&events.StateChanged{Fact: f, Component: uint32(i.c.Index), Scope: i.scope, Parents: i.parents, Value: value})
	default:
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
	if i.t.spend.spent() {
		i.t.spend.exceeds()
	}
	i.failAs(events.ErrorExpression, err.Error(), i.policy())
}

// exceed ends an invocation that takes too much, or whose value is too large.
func (i invocation) exceed(over *excess) {
	i.failAs(over.typ, over.Message, i.t.policyUnread(i.c, i.activation))
}

func (i invocation) failAs(typ, message string, pol policy.Policy) {
	if i.id == 0 {
		i.id = i.ready(pol.Append(nil))
	}
	i.t.ends.failFor(i.id, events.TaskError{Type: typ, Message: message, NonRetryable: true}, "", failedAttempt)
}

// policy is resolved for this invocation.
func (i invocation) policy() policy.Policy {
	pol := i.t.policyFor(i.c, i.activation)
	if i.t.spend.spent() { // a rule that cannot be evaluated does not match; one that was given up might have
		i.t.spend.exceeds()
	}
	return pol
}

// ready makes the runnable.
func (i invocation) ready(policy []byte) events.RunnableID { return i.readyBy(policy, 0) }

// readyBy makes the runnable; endBy: until when it must have ended.
func (i invocation) readyBy(policy []byte, endBy int64) events.RunnableID {
	id := i.t.nextRunnable()
	i.t.emit(&events.RunnableReady{
		Runnable: id, Component: uint32(i.c.Index), Scope: i.scope, Parents: i.parents, Depth: i.depth, Policy: policy, EndBy: endBy,
	})
	return id
}

// wait makes the runnable wait for its time.
func (i invocation) wait(d time.Duration) { i.waitUntil(i.t.now + d.Milliseconds()) }

// waitUntil makes it wait until a time (Unix ms); one that is over comes at once.
func (i invocation) waitUntil(due int64) {
	if i.id == 0 {
		i.id = i.ready(nil)
	}
	i.t.emit(&events.TimerArmed{Runnable: i.id, Due: max(due, i.t.now)})
}

// endWait makes a fact of what arrived, when the time that the runnable waited for has come.
func (i invocation) endWait() {
	t := i.t
	edited := len(i.input) > 0
	if !edited && !t.facts.isFact(i.c) {
		i.value() // it is put together again when the event is applied, whatever it takes
	}
	f := t.nextFact()
	t.emit(&events.TimerFired{Runnable: i.id, Fact: f, Edited: edited})
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
	id := i.readyBy(pol.Append(nil), t.endBy(pol))
	if t.runs.get(id).Status != runReady { // it is not its turn
		return
	}
	if pol.Mode == policy.External && t.head.Status == Running {
		t.dispatch(id)
		return
	}
	t.queue.fresh = append(t.queue.fresh, readyEntry{pol.Priority.Rank(), i.depth, id})
}

// lineUp lets a runnable that is ready be admitted in this record.
func (i invocation) lineUp() {
	if r := i.t.runs.get(i.id); r.Status == runReady { // else it waits for its turn
		i.t.queue.fresh = append(i.t.queue.fresh, r.place(i.id))
	}
}
