package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// armArrived brings a fact to a join and fires it when nothing is missing. A join fires once per scope.
func (fl *flow) armArrived(c *definition.Component, a arrival) {
	fl.emit(&events.JoinArmArrived{Component: a.component, Scope: a.scope, Arm: a.arm, Fact: a.fact})
	fl.fire(c, a.scope)
}

// armDied takes the news that nothing can come to an arm of a component.
func (fl *flow) armDied(c *definition.Component, a arrival) {
	switch {
	case c.Waits():
		fl.emit(&events.JoinArmDied{Component: a.component, Scope: a.scope, Arm: a.arm})
		j := fl.joins.get(a.scope, a.component)
		if j == nil || j.Closed || c.Optional(int(a.arm)) || c.Join == definition.First && j.mayFire(c) {
			fl.fire(c, a.scope)
			return
		}
	case c.Join == definition.Any:
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
	fl.race(c, s)
}

// fire activates a join whose arms have been decided: all, or as many as a race is about.
func (fl *flow) fire(c *definition.Component, s events.ScopeID) {
	j := fl.joins.get(s, uint32(c.Index))
	if j == nil || j.Closed || !j.complete(c) {
		return
	}
	switch parents := fl.joins.facts(c, s); {
	case c.Join == definition.First:
		fl.activate(c, s, slices.DeleteFunc(parents, func(f events.FactID) bool { return f == 0 }))
		fl.race(c, s)
	case c.Conditions == 0:
		fl.activate(c, s, parents)
	default:
		fl.activateRule(c, s, parents)
	}
}

// activateRule activates a rule if its named conditions hold: those that do have sent their fact.
func (fl *flow) activateRule(c *definition.Component, s events.ScopeID, parents []events.FactID) {
	own, told := parents[:c.Own()], parents[c.Own():]
	holds := !slices.Contains(told, 0)
	if c.AnyOf {
		holds = slices.ContainsFunc(told, func(f events.FactID) bool { return f != 0 })
	}
	if len(own) == 0 { // fed by the input, or by the element: the fact that opened the scope
		own = []events.FactID{s}
	}
	if holds {
		fl.activate(c, s, own)
		return
	}
	fl.passBy(c, activation{scope: s, parents: own})
}
