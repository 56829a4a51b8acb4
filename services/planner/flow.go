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

// spread moves a fact, or a death, along the edges of a component, to as many of its
// children as there is budget for.
func (fl *flow) spread(w events.Work) {
	roots, children := fl.graph().Roots, []definition.Edge(nil)
	n := len(roots)
	if w.Component > 0 {
		children = fl.edges(&w)
		n = len(children)
	}
	for i := int(w.Cursor); i < n; i++ {
		if w.Component > 0 {
			if a := fl.along(&w, children[i]); !children[i].Reactor || a.dead != 0 { // else it has seen the state
				fl.arrive(a)
			}
		} else {
			fl.arrive(arrival{component: uint32(roots[i]), scope: w.Scope, fact: w.Fact})
		}
		if i+1 < n && fl.spend.full() {
			fl.pieces.keep(uint64(i + 1))
			return
		}
	}
	fl.pieces.pop()
}

// edges are those that a spread goes along: into the body of a map with the fact of an
// element, which has opened its scope, else to the component's children.
func (fl *flow) edges(w *events.Work) []definition.Edge {
	c := fl.component(w.Component - 1)
	if c.Each != nil && w.Fact != 0 && w.Fact == w.Scope {
		return c.Each.Body
	}
	return c.Children
}

// along is what a spread brings along one edge.
func (fl *flow) along(w *events.Work, e definition.Edge) arrival {
	a := arrival{component: uint32(e.Component), arm: uint32(e.Arm), scope: w.Scope}
	switch {
	case e.Captured > 0:
		a.fact = fl.facts.get(w.Fact).Parents[fl.component(w.Component-1).Fed()+e.Captured-1]
		if a.fact == 0 {
			a.dead = notTaken
		}
	case len(w.Catchers) > 0:
		a.fact, a.dead = caughtBy(w, e)
	case e.Catch:
		a.dead = notTaken
	case w.Fact != 0 && !e.Else:
		a.fact = w.Fact
	case len(w.Parents) > 0 && e.Else:
		a.parents = w.Parents
	case w.Fact != 0 || len(w.Parents) > 0:
		a.dead = notTaken
	default:
		a.dead = cause(w.Dead)
	}
	return a
}

// arrive takes what has come to a component.
func (fl *flow) arrive(a arrival) {
	c := fl.component(a.component)
	switch {
	case c.Join == definition.Fold:
		fl.toFold(c, a)
	case a.dead != 0:
		fl.armDied(c, a)
	case c.Waits():
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

// activate runs a component, if it is taken.
func (fl *flow) activate(c *definition.Component, s events.ScopeID, parents []events.FactID) {
	if fl.pointless(c, s) {
		fl.die(c, s, notTaken)
		return
	}
	i := invocation{fl.turn, c, 0, activation{scope: s, parents: parents, depth: fl.facts.depth(parents)}}
	i.do(invocation.arrive)
}

// yield sends a component's fact on: to its children, and the news to its else
// that it was taken.
func (fl *flow) yield(c *definition.Component, s events.ScopeID, f events.FactID) {
	fl.breakSilences(c, s)
	fl.send(c, events.Work{Scope: s, Fact: f})
}

// passBy sends the value of a component that is not taken to its else, and the
// news to its children.
func (fl *flow) passBy(c *definition.Component, a activation) {
	fl.emit(&events.BranchNotTaken{Component: uint32(c.Index), Scope: a.scope})
	fl.send(c, events.Work{Scope: a.scope, Parents: a.parents})
}

// dieFrom tells everything behind a component that nothing comes from it.
func (fl *flow) dieFrom(c *definition.Component, s events.ScopeID, why cause) {
	fl.send(c, events.Work{Scope: s, Dead: uint8(why)})
}

func (fl *flow) send(c *definition.Component, w events.Work) {
	w.Kind, w.Component = events.WorkSpread, uint32(c.Index)+1
	if len(fl.edges(&w)) > 0 {
		fl.pieces.add(w)
	}
}

func (w *workflow) time() time.Time { return time.UnixMilli(w.now).UTC() }
