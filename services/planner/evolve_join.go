package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

func (t *turn) applyArmArrived(e *events.JoinArmArrived) {
	j := rows.Change[join](t.tx, joinKey(t.wf, e.Scope, e.Component))
	j.Arrived++
	c := t.component(e.Component)
	if c.Join != definition.Any && !j.Closed {
		t.tx.Create(armKey(t.wf, e.Scope, e.Component, e.Arm), &arm{Fact: e.Fact})
	}
	t.endJoin(c, e.Scope, j)
}

func (t *turn) applyArmDied(e *events.JoinArmDied) {
	j := rows.Change[join](t.tx, joinKey(t.wf, e.Scope, e.Component))
	j.Dead++
	t.endJoin(t.component(e.Component), e.Scope, j)
}

// applySuppressed remembers, under the next number, an activation that never
// became a runnable. It is for good: what halts can be retried and suppresses
// nothing, what was skipped cannot.
func (t *turn) applySuppressed(e *events.RunnableSuppressed) {
	h := t.h()
	h.Suppressed++
	t.tx.Create(suppressedKey(t.wf, h.Suppressed), &suppression{Component: e.Component, Scope: e.Scope})
	t.closeJoin(e.Component, e.Scope)
}

// closeJoin notes that a join was decided in this scope, because it fired or
// died: what arrives later changes nothing.
func (t *turn) closeJoin(component uint32, s events.ScopeID) {
	c := t.component(component)
	old := t.joinOf(c, s)
	if old == nil {
		return
	}
	if c.Join == definition.Any {
		if int(old.Dead) == len(c.Arms) {
			t.tx.Delete(joinKey(t.wf, s, component))
		}
		return
	}
	j := rows.Change[join](t.tx, joinKey(t.wf, s, component))
	j.Closed = true
	t.endJoin(c, s, j)
}

// joinOf is the row of a component that counts its arms, or nil.
func (t *turn) joinOf(c *definition.Component, s events.ScopeID) *join {
	switch c.Join {
	case definition.List, definition.Named, definition.Any:
		return t.join(s, uint32(c.Index))
	default:
		return nil
	}
}

// endJoin removes the rows of a join in a scope once nothing more can come to
// it and it was decided.
func (t *turn) endJoin(c *definition.Component, s events.ScopeID, j *join) {
	if int(j.Arrived+j.Dead) < len(c.Arms) {
		return
	}
	if c.Join == definition.Any {
		if j.Arrived > 0 {
			t.tx.Delete(joinKey(t.wf, s, uint32(c.Index)))
		}
		return
	}
	if !j.Closed {
		return
	}
	for i := range c.Arms {
		k := armKey(t.wf, s, uint32(c.Index), uint32(i))
		if rows.Get[arm](t.tx, k) != nil {
			t.tx.Delete(k)
		}
	}
	t.tx.Delete(joinKey(t.wf, s, uint32(c.Index)))
}
