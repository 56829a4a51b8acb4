package planner

import (
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
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
func (fl *flow) travel() {
	for i := 0; i < len(fl.work); i++ {
		a := fl.work[i]
		c := fl.component(a.component)
		switch {
		case a.dead != 0:
			fl.armDied(c, a)
		case c.Join == definition.List || c.Join == definition.Named:
			fl.armArrived(c, a)
		case a.parents != nil:
			fl.activate(c, a.scope, a.parents)
		default:
			if c.Join == definition.Any && c.Single {
				fl.emit(&events.JoinArmArrived{Component: a.component, Scope: a.scope, Arm: a.arm, Fact: a.fact})
			}
			fl.activate(c, a.scope, []events.FactID{a.fact})
		}
	}
	fl.work = fl.work[:0]
}

// activate decides whether the component is taken, and runs it.
func (fl *flow) activate(c *definition.Component, s events.ScopeID, parents []events.FactID) {
	i := invocation{fl.turn, c, 0, activation{scope: s, parents: parents, depth: fl.facts.depth(parents)}}
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
func (fl *flow) yield(c *definition.Component, s events.ScopeID, f events.FactID) {
	for _, e := range c.Children {
		a := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: s}
		if e.Else {
			a.dead = notTaken
		} else {
			a.fact = f
		}
		fl.work = append(fl.work, a)
	}
}

// passBy sends the value of a component that is not taken to its else, and the
// news to its children.
func (fl *flow) passBy(c *definition.Component, a activation) {
	fl.emit(&events.BranchNotTaken{Component: uint32(c.Index), Scope: a.scope})
	for _, e := range c.Children {
		w := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: a.scope}
		if e.Else {
			w.parents = a.parents
		} else {
			w.dead = notTaken
		}
		fl.work = append(fl.work, w)
	}
}

// dieFrom tells everything behind a component that nothing comes from it.
func (fl *flow) dieFrom(component uint32, s events.ScopeID, why cause) {
	for _, e := range fl.component(component).Children {
		fl.work = append(fl.work, arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: s, dead: why})
	}
}

func (w *workflow) time() time.Time { return time.UnixMilli(w.now).UTC() }
