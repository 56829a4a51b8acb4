package planner

import (
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

// cause is why a component does not run in a scope.
type cause uint8

const (
	notTaken   cause = 1 // a condition did not hold
	suppressed cause = 2 // something it needs failed or was skipped
)

// arrival is something on its way to one arm of a component: a fact; the parents
// of a component that was not taken, for its else; or, with a cause, the news
// that nothing can come any more.
type arrival struct {
	component uint32
	arm       uint32
	scope     events.ScopeID
	fact      events.FactID
	parents   []events.FactID // else: what the component that was not taken had
	dead      cause
}

// activation is one run of a component: its scope and what arrived at its arms.
type activation struct {
	scope   events.ScopeID
	parents []events.FactID
	depth   uint32
	input   json.RawMessage // edited by a retry, else empty
}

// travel moves facts and deaths along the edges until all have arrived.
func (t *turn) travel() {
	for i := 0; i < len(t.work); i++ {
		a := t.work[i]
		c := t.component(a.component)
		switch {
		case a.dead != 0:
			t.armDied(c, a)
		case c.Join == definition.List || c.Join == definition.Named:
			t.armArrived(c, a)
		case a.parents != nil:
			t.activate(c, a.scope, a.parents)
		default:
			if c.Join == definition.Any && c.Single {
				t.emit(&events.JoinArmArrived{Component: a.component, Scope: a.scope, Arm: a.arm, Fact: a.fact})
			}
			t.activate(c, a.scope, []events.FactID{a.fact})
		}
	}
	t.work = t.work[:0]
}

// activate decides whether the component is taken, and runs it.
func (t *turn) activate(c *definition.Component, s events.ScopeID, parents []events.FactID) {
	i := invocation{t, c, 0, activation{scope: s, parents: parents, depth: t.depth(parents)}}
	if c.When != nil {
		holds, err := c.When.Holds(i.env())
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

// yield sends a component's fact on: to its children, and the news to its else
// that it was taken.
func (t *turn) yield(c *definition.Component, s events.ScopeID, f events.FactID) {
	for _, e := range c.Children {
		a := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: s}
		if e.Else {
			a.dead = notTaken
		} else {
			a.fact = f
		}
		t.work = append(t.work, a)
	}
}

// passBy sends the value of a component that is not taken to its else, and the
// news to its children.
func (t *turn) passBy(c *definition.Component, a activation) {
	t.emit(&events.BranchNotTaken{Component: uint32(c.Index), Scope: a.scope})
	for _, e := range c.Children {
		w := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: a.scope}
		if e.Else {
			w.parents = a.parents
		} else {
			w.dead = notTaken
		}
		t.work = append(t.work, w)
	}
}

// dieFrom tells everything behind a component that nothing comes from it.
func (t *turn) dieFrom(component uint32, s events.ScopeID, why cause) {
	for _, e := range t.component(component).Children {
		t.work = append(t.work, arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: s, dead: why})
	}
}

// value is what arrived at a component, as its expressions and its task see it.
func (t *turn) value(c *definition.Component, a activation) json.RawMessage {
	if len(a.input) > 0 {
		return a.input
	}
	return t.arrived(c, a.parents)
}

func (t *turn) env(c *definition.Component, a activation) expr.Env {
	return t.envOver(c, a, t.setup().Context)
}

// envOver is the same with another context of the workflow.
func (t *turn) envOver(c *definition.Component, a activation, run json.RawMessage) expr.Env {
	return expr.Env{
		Input:      t.value(c, a),
		Context:    t.context(c, a.scope, run),
		WorkflowID: t.wf,
		Now:        t.time(),
		Account:    t.spend.account(),
	}
}

func (t *turn) time() time.Time { return time.UnixMilli(t.now).UTC() }

func (t *turn) depth(parents []events.FactID) uint32 {
	var most uint32
	for _, id := range parents {
		if id != 0 {
			most = max(most, t.fact(id).Depth+1)
		}
	}
	return most
}
