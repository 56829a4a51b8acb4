package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

func (js *joins) get(s events.ScopeID, component uint32) *join {
	return rows.Get[join](js.tx, joinKey(js.id, s, component))
}

// facts are what has come to the arms of a component that waits; 0: nothing.
func (js *joins) facts(c *definition.Component, s events.ScopeID) []events.FactID {
	all := make([]events.FactID, c.Awaited())
	for i := range all {
		if at := rows.Get[arm](js.tx, armKey(js.id, s, uint32(c.Index), uint32(i))); at != nil {
			all[i] = at.Fact
		}
	}
	return all
}

// complete reports whether a component that waits has what it waits for.
func (j *join) complete(c *definition.Component) bool {
	if c.Join == definition.First {
		return int(j.Arrived) >= c.Count
	}
	return int(j.Arrived+j.Dead) >= c.Awaited()
}

// mayFire reports whether as many arms as a race is about may still arrive.
func (j *join) mayFire(c *definition.Component) bool { return len(c.Arms)-int(j.Dead) >= c.Count }

func (js *joins) arrived(e *events.JoinArmArrived) {
	j := rows.Change[join](js.tx, joinKey(js.id, e.Scope, e.Component))
	j.Arrived++
	c := js.component(e.Component)
	if c.Join != definition.Any && !j.Closed {
		js.tx.Create(armKey(js.id, e.Scope, e.Component, e.Arm), &arm{Fact: e.Fact})
	}
	js.end(c, e.Scope, j)
}

func (js *joins) died(e *events.JoinArmDied) {
	j := rows.Change[join](js.tx, joinKey(js.id, e.Scope, e.Component))
	j.Dead++
	js.end(js.component(e.Component), e.Scope, j)
}

// suppressed remembers, under the next number, an activation that never
// became a runnable. It is for good: what halts can be retried and suppresses
// nothing, what was skipped cannot.
func (rs *runnables) suppressed(e *events.RunnableSuppressed) {
	h := rs.h()
	h.Suppressed++
	rs.tx.Create(suppressedKey(rs.id, h.Suppressed), &suppression{Component: e.Component, Scope: e.Scope})
	rs.joins.closeAt(e.Component, e.Scope)
	rs.folds.over(uint64(e.Scope), e.Component)
}

// closeAt notes that a join was decided in this scope, because it fired or
// died: what arrives later changes nothing.
func (js *joins) closeAt(component uint32, s events.ScopeID) {
	c := js.component(component)
	old := js.of(c, s)
	if old == nil {
		return
	}
	if c.Join == definition.Any {
		if int(old.Dead) == len(c.Arms) {
			js.tx.Delete(joinKey(js.id, s, component))
		}
		return
	}
	j := rows.Change[join](js.tx, joinKey(js.id, s, component))
	j.Closed = true
	js.end(c, s, j)
}

// of is the row of a component that counts its arms, or nil.
func (js *joins) of(c *definition.Component, s events.ScopeID) *join {
	if c.Waits() || c.Join == definition.Any {
		return js.get(s, uint32(c.Index))
	}
	return nil
}

// end removes the rows of a join in a scope once nothing more can come to
// it and it was decided.
func (js *joins) end(c *definition.Component, s events.ScopeID, j *join) {
	if int(j.Arrived+j.Dead) < c.Awaited() {
		return
	}
	if c.Join == definition.Any {
		if j.Arrived > 0 {
			js.tx.Delete(joinKey(js.id, s, uint32(c.Index)))
		}
		return
	}
	if !j.Closed {
		return
	}
	for i := range c.Awaited() {
		k := armKey(js.id, s, uint32(c.Index), uint32(i))
		if rows.Get[arm](js.tx, k) != nil {
			js.tx.Delete(k)
		}
	}
	js.tx.Delete(joinKey(js.id, s, uint32(c.Index)))
}
