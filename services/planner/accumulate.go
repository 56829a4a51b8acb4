package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// initial records the initial state as the component's first fact, which goes nowhere,
// when it is used for the first time.
func (i invocation) initial() {
	if i.t.states.of(uint32(i.c.Index)).Fact != 0 {
		return
	}
	init := i.c.Accumulate.Init
	i.t.spend.holds(len(init))
	i.t.emit(&events.StateChanged{Fact: i.t.nextFact(), Component: uint32(i.c.Index), Scope: i.scope, Value: init})
}

// turn reports whether what arrived can be folded now. Else it waits for what arrived
// before it, as a runnable.
func (i invocation) turn() bool {
	turn := i.t.states.of(uint32(i.c.Index)).Turn
	switch {
	case turn == i.id:
		return true
	case i.id == 0:
		pol := i.policy()
		i.readyBy(pol.Append(nil), i.t.endBy(pol))
	}
	return false
}

// fold makes what arrived part of the state, by an expression, and lets the component's
// reactors see the new one.
func (i invocation) fold() {
	i.initial()
	value, err := i.c.Expr.Eval(i.env())
	if err != nil {
		i.fail(err)
		return
	}
	i.becomes(value)
}

// becomes makes a value the state, and lets the component's reactors see it.
func (i invocation) becomes(value json.RawMessage) {
	before := i.t.states.value(i.c)
	f := i.t.nextFact()
	i.produce(value)
	for _, reactor := range i.c.Accumulate.Reactors {
		i.t.flow.react(i.t.component(uint32(reactor)), i.scope, f, before)
	}
}

// react runs a part that reacts to a state, if its condition holds for the new one.
func (fl *flow) react(c *definition.Component, s events.ScopeID, f events.FactID, before json.RawMessage) {
	if fl.pointless(c, s) {
		fl.die(c, s, notTaken)
		return
	}
	parents := []events.FactID{f}
	i := invocation{fl.turn, c, 0, activation{scope: s, parents: parents, depth: fl.facts.depth(parents)}}
	i.do(func(i invocation) {
		holds, err := i.reacts(before)
		switch {
		case err != nil:
			i.fail(err)
		case holds:
			i.kind().arrive(i)
		default:
			i.passBy()
		}
	})
}

// reacts reports whether a reactor runs for the state that has arrived. Where its condition
// could not be evaluated before, it did not hold.
func (i invocation) reacts(before json.RawMessage) (bool, error) {
	env := i.env()
	holds, err := i.c.When.Holds(env)
	if err != nil || !holds || i.c.Reactor.Level {
		return holds, err
	}
	env.Input, env.State = before, before
	held, err := i.c.When.Holds(env)
	if i.t.spend.spent() {
		i.t.spend.exceeds()
	}
	return err != nil || !held, nil
}
