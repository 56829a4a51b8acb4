package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// states are what accumulating components have folded, and what waits to be folded: one at
// a time, in the order in which it arrived. What has failed and may be retried keeps its turn.
type states struct {
	*workflow
	turns []events.RunnableID // whose turn has come in this record, and which the planner evaluates
}

// state is a row of an accumulating component: its state, or one of those that wait for
// their turn, or what an input sees of the state.
type state struct {
	Fact  events.FactID     // the state; 0: the initial one, which nothing has used
	Turn  events.RunnableID // whose turn it is; 0: nobody's, and nobody waits
	First uint64            // number of the first that waits
	Next  uint64            // of the next one that will

	Waits events.RunnableID // who waits
	Value json.RawMessage   // what an input sees
}

// Fields implements wire.Message.
func (s *state) Fields(c *wire.Codec) {
	wire.Int(c, 1, "fact", &s.Fact)
	wire.Int(c, 2, "turn", &s.Turn)
	wire.Int(c, 3, "first", &s.First)
	wire.Int(c, 4, "next", &s.Next)
	wire.Int(c, 5, "waits", &s.Waits)
	c.JSON(6, "value", &s.Value)
}

func stateKey(wf string, component uint32) rows.Key {
	return rows.Key{Table: rows.State, Workflow: wf, A: uint64(component)}
}

func turnKey(wf string, component uint32, n uint64) rows.Key {
	return rows.Key{Table: rows.State, Workflow: wf, A: uint64(component), B: 1, C: n}
}

func seenKey(wf string, component int, input events.ScopeID) rows.Key {
	return rows.Key{Table: rows.State, Workflow: wf, A: uint64(component), B: 2, C: uint64(input)}
}

// of is the row of a component's state; empty before anything has arrived.
func (st *states) of(component uint32) state {
	if s := rows.Get[state](st.tx, stateKey(st.id, component)); s != nil {
		return *s
	}
	return state{}
}

// value is the state of a component.
func (st *states) value(c *definition.Component) json.RawMessage {
	if s := st.of(uint32(c.Index)); s.Fact != 0 {
		return st.facts.get(s.Fact).Value
	}
	return c.Accumulate.Init
}

// changed makes a fact the state of the component that it is of. The input that is folded
// goes on seeing the state of before: none is when the initial state is recorded.
func (st *states) changed(c *definition.Component, s events.ScopeID, f events.FactID) {
	if c.Accumulate == nil {
		return
	}
	row := rows.Change[state](st.tx, stateKey(st.id, uint32(c.Index)))
	before := row.Fact
	if before != 0 && watched(st.graph(), c.Index) {
		st.show(c, s)
	}
	row.Fact = f
	st.facts.let(before)
}

// watched reports whether expressions look at the state of a component.
func watched(g *definition.Graph, component int) bool {
	for _, w := range g.Watched {
		if w == component {
			return true
		}
	}
	return false
}

// show lets an input see a component's state as it is now until it has settled, if it
// sees none yet.
func (st *states) show(c *definition.Component, s events.ScopeID) {
	k := seenKey(st.id, c.Index, st.scopes.root(s))
	if rows.Get[state](st.tx, k) == nil {
		st.tx.Create(k, &state{Value: st.value(c)})
	}
}

// showAll does so for all states that a component looks at: what its task was given once it
// is given whenever the task is made again.
func (st *states) showAll(c *definition.Component, s events.ScopeID) {
	for _, of := range c.States {
		st.show(st.component(uint32(of)), s)
	}
}

// unsee forgets what an input saw that has settled.
func (st *states) unsee(s events.ScopeID) {
	for _, c := range st.graph().Watched {
		if k := seenKey(st.id, c, s); rows.Get[state](st.tx, k) != nil {
			st.tx.Delete(k)
		}
	}
}

// seenStates are the states as the expressions of a scope see them.
type seenStates struct {
	*states
	scope events.ScopeID
}

// State implements expr.Stated.
func (s seenStates) State(name string) json.RawMessage {
	c := s.graph().Lookup(name)
	if row := rows.Get[state](s.tx, seenKey(s.id, c.Index, s.scopes.root(s.scope))); row != nil {
		return row.Value
	}
	return s.value(c)
}

// lookAt adds the states that a component's expressions see.
func (st *states) lookAt(env *expr.Env, c *definition.Component, s events.ScopeID) {
	switch {
	case c.Accumulate != nil:
		env.State = st.value(c)
	case c.Reactor != nil:
		env.State = env.Input
	}
	if len(c.States) > 0 {
		env.States = seenStates{st, s}
	}
}

// join lines a runnable up to be folded.
func (st *states) join(id events.RunnableID, r *runnable) {
	if st.component(r.Component).Accumulate == nil {
		return
	}
	row := rows.Change[state](st.tx, stateKey(st.id, r.Component))
	if row.Turn == 0 {
		row.Turn = id
		return
	}
	st.tx.Create(turnKey(st.id, r.Component, row.Next), &state{Waits: id})
	row.Next++
}

// hasTurn reports whether a runnable need not wait for others to be folded.
func (st *states) hasTurn(id events.RunnableID, r *runnable) bool {
	return st.component(r.Component).Accumulate == nil || st.of(r.Component).Turn == id
}

// leave lets the next one have its turn when a runnable has ended.
func (st *states) leave(id events.RunnableID, r *runnable) {
	if st.component(r.Component).Accumulate == nil || st.of(r.Component).Turn != id {
		return
	}
	row := rows.Change[state](st.tx, stateKey(st.id, r.Component))
	row.Turn = 0
	for row.Turn == 0 && row.First < row.Next {
		k := turnKey(st.id, r.Component, row.First)
		row.First++
		next := rows.Get[state](st.tx, k).Waits
		st.tx.Delete(k)
		row.Turn = next
		if !st.begin(next) {
			row.Turn = 0
		}
	}
	if row.First == row.Next {
		row.First, row.Next = 0, 0
	}
}

// begin gives a runnable its turn; false: it has ended while it waited.
func (st *states) begin(id events.RunnableID) bool {
	r := st.runs.get(id)
	switch {
	case r == nil || r.Status != runWaiting && r.Status != runFailed:
		return false
	case r.Status == runFailed: // it keeps its turn until it is retried or skipped
	case st.component(r.Component).Task != "":
		r = st.runs.change(id)
		st.runs.leave(id, r)
		st.runs.enqueue(id, r)
	default:
		st.turns = append(st.turns, id)
	}
	return true
}

// takeTurns lines up the runnables whose turn has come, and reports whether there are any.
func (t *turn) takeTurns() bool {
	list := t.states.turns
	t.states.turns = list[:0]
	if t.head.Status.winding() {
		return false
	}
	for _, id := range list {
		t.pieces.add(events.Work{Kind: events.WorkScopes, Runnable: id})
	}
	return len(list) > 0
}
