package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
)

// stateBook follows what the components of a run accumulate, as its records tell it.
type stateBook struct {
	values map[events.FactID]json.RawMessage
	states map[*Component]int64 // of those that something has used
	seen   map[sight]int64
	due    map[reacting]bool // what must run in the same record
}

// sight is a component's state as an input sees it, once that is fixed.
type sight struct {
	of    *Component
	input events.ScopeID
}

// reacting is a reactor and the state that it runs for.
type reacting struct {
	reactor *Component
	state   events.FactID
}

func newStateBook() stateBook {
	return stateBook{
		values: map[events.FactID]json.RawMessage{}, states: map[*Component]int64{}, seen: map[sight]int64{}, due: map[reacting]bool{},
	}
}

// state is a component's state now.
func (b *stateBook) state(c *Component) int64 {
	if s, used := b.states[c]; used {
		return s
	}
	return c.sums.init
}

// see is a component's state as an input sees it.
func (b *stateBook) see(c *Component, input events.ScopeID) int64 {
	if s, fixed := b.seen[sight{c, input}]; fixed {
		return s
	}
	return b.state(c)
}

// fix lets an input go on seeing a state as it sees it now.
func (b *stateBook) fix(c *Component, input events.ScopeID) {
	b.seen[sight{c, input}] = b.see(c, input)
}

// follow follows an event of a run that has begun.
func (c *journalChecker) follow(rec *events.Record, r *run, e events.Event) {
	b := &r.book
	switch e := e.(type) {
	case *events.InputAccepted:
		b.values[e.Fact] = e.Value
	case *events.InputSettled:
		maps.DeleteFunc(b.seen, func(s sight, _ int64) bool { return s.input == e.Scope })
	case *events.FactProduced:
		b.values[e.Fact] = e.Value
		of := r.wf.Graph.Components[e.Component]
		c.reacts(rec, r, of, e.Parents)
		c.looks(rec, r, of, e.Scope, e.Value)
	case *events.StateChanged:
		b.values[e.Fact] = e.Value
		c.stateChanged(rec, r, e)
	case *events.RunnableReady:
		c.reacts(rec, r, r.wf.Graph.Components[e.Component], e.Parents)
	case *events.RunnableDispatched:
		a := r.runnables[e.Runnable]
		if a.Component.looks != nil {
			b.fix(a.Component.looks, a.scope)
		}
		c.inTurn(rec, r, e.Runnable)
	case *events.RunnableCompleted:
		b.values[e.Fact] = e.Value
		a := r.runnables[e.Runnable]
		if a.Component.sums != nil {
			c.adds(rec, r, a.Component, a.scope, a.parents, e.Fact)
		}
		c.looks(rec, r, a.Component, a.scope, e.Value)
	}
}

// stateChanged holds that a component's first state is its initial one, which it records once,
// and that each other one follows the one before it.
func (c *journalChecker) stateChanged(rec *events.Record, r *run, e *events.StateChanged) {
	of := r.wf.Graph.Components[e.Component]
	switch _, used := r.book.states[of]; {
	case of.sums == nil:
		c.fail(rec, "%s has a state, and accumulates nothing", of.Name)
	case len(e.Parents) > 0:
		c.adds(rec, r, of, e.Scope, e.Parents, e.Fact)
	case used || number64(e.Value) != of.sums.init:
		c.fail(rec, "%s begins with %s, want %d; it had begun: %v", of.Name, e.Value, of.sums.init, used)
	default:
		r.book.states[of] = of.sums.init
	}
}

// adds holds that a state is the one before with what arrived folded into it, and notes which
// reactors run for it.
func (c *journalChecker) adds(rec *events.Record, r *run, of *Component, input events.ScopeID, parents []events.FactID, f events.FactID) {
	b := &r.book
	before, used := b.states[of]
	arrived, err := parse(b.values[parents[0]], of.shape)
	if err != nil || !used {
		c.fail(rec, "%s folds %s; it has begun: %v; %v", of.Name, b.values[parents[0]], used, err)
		return
	}
	state := number64(b.values[f])
	if want := before + of.Compute(weigh(arrived)); state != want {
		c.fail(rec, "%s has the state %d, want %d: that before, %d, with what it makes of %s", of.Name, state, want, before, b.values[parents[0]])
	}
	b.fix(of, input)
	b.states[of] = state
	for _, reactor := range of.sums.parts {
		if reactor.reacts.fires(before, state) {
			b.due[reacting{reactor, f}] = true
		}
	}
}

// reacts holds that a reactor runs for a state that it is to run for, once.
func (c *journalChecker) reacts(rec *events.Record, r *run, of *Component, parents []events.FactID) {
	if of.reacts == nil {
		return
	}
	run := reacting{of, parents[0]}
	if !r.book.due[run] {
		c.fail(rec, "%s runs for the state %s, %s", of.Name, parents[0], r.book.values[parents[0]])
	}
	delete(r.book.due, run)
}

// reacted holds that all reactors run that a record's states are for.
func (c *journalChecker) reacted(rec *events.Record) {
	r := c.runs[rec.Workflow]
	if r == nil || len(r.book.due) == 0 {
		return
	}
	if !r.cancelled {
		for _, of := range slices.SortedFunc(maps.Keys(r.book.due), func(a, b reacting) int { return int(a.state) - int(b.state) }) {
			c.fail(rec, "%s does not run for the state %s, %s", of.reactor.Name, of.state, r.book.values[of.state])
		}
	}
	clear(r.book.due)
}

// looks holds that a component that gives a state gives the one that its input sees.
func (c *journalChecker) looks(rec *events.Record, r *run, of *Component, input events.ScopeID, value json.RawMessage) {
	if of.looks == nil {
		return
	}
	if want := r.book.see(of.looks, input); number64(value) != want {
		c.fail(rec, "%s gives %s of %s, whose state input %s sees as %d", of.Name, value, of.looks.Name, input, want)
	}
}

// inTurn holds that what is folded by a task is folded one at a time, in the order in which it arrived.
func (c *journalChecker) inTurn(rec *events.Record, r *run, id events.RunnableID) {
	of := r.runnables[id].Component
	if of.sums == nil {
		return
	}
	for other, a := range r.runnables {
		if over := a.ended != "" && a.ended != events.ActionHalt.String(); a.Component == of && other < id && !over {
			c.fail(rec, "%s of %s has an attempt before its turn: %s ended %q", id, of.Name, other, a.ended)
		}
	}
}

// number64 is a value that is a whole number, or one that none is.
func number64(value json.RawMessage) int64 {
	var n int64
	if _, err := fmt.Sscan(string(value), &n); err != nil || fmt.Sprint(n) != string(value) {
		return -1
	}
	return n
}
