package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// armArrived brings a fact to a join and fires it when it was the last one
// missing. A join fires once per scope.
func (fl *flow) armArrived(c *definition.Component, a arrival) {
	fl.emit(&events.JoinArmArrived{Component: a.component, Scope: a.scope, Arm: a.arm, Fact: a.fact})
	fl.fire(c, a.scope)
}

// armDied takes the news that nothing can come to an arm of a component.
func (fl *flow) armDied(c *definition.Component, a arrival) {
	switch c.Join {
	case definition.List, definition.Named:
		fl.emit(&events.JoinArmDied{Component: a.component, Scope: a.scope, Arm: a.arm})
		j := fl.joins.get(a.scope, a.component)
		if j == nil || j.Closed || c.Arms[a.arm].Optional {
			fl.fire(c, a.scope)
			return
		}
	case definition.Any:
		if !c.Single {
			return // whatever is behind it needs no such news
		}
		fl.emit(&events.JoinArmDied{Component: a.component, Scope: a.scope, Arm: a.arm})
		if j := fl.joins.get(a.scope, a.component); j == nil || int(j.Dead) < len(c.Arms) {
			return
		}
	default:
	}
	fl.die(c, a.scope, a.dead)
}

// die ends a component in a scope without running it.
func (fl *flow) die(c *definition.Component, s events.ScopeID, why cause) {
	if why == suppressed {
		fl.emit(&events.RunnableSuppressed{Component: uint32(c.Index), Scope: s})
	} else {
		fl.emit(&events.BranchNotTaken{Component: uint32(c.Index), Scope: s})
	}
	if c.Single {
		fl.dieFrom(c, s, why)
	}
}

// fire activates a join whose arms have all been decided.
func (fl *flow) fire(c *definition.Component, s events.ScopeID) {
	j := fl.joins.get(s, uint32(c.Index))
	if j == nil || j.Closed || int(j.Arrived+j.Dead) < len(c.Arms) {
		return
	}
	parents := make([]events.FactID, len(c.Arms))
	for i := range parents {
		if at := rows.Get[arm](fl.tx, armKey(fl.id, s, uint32(c.Index), uint32(i))); at != nil {
			parents[i] = at.Fact
		}
	}
	fl.activate(c, s, parents)
}
