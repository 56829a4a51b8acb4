package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// armArrived brings a fact to a join and fires it when it was the last one
// missing. A join fires once per scope.
func (t *turn) armArrived(c *definition.Component, a arrival) {
	t.emit(&events.JoinArmArrived{Component: a.component, Scope: a.scope, Arm: a.arm, Fact: a.fact})
	t.fire(c, a.scope)
}

// armDied takes the news that nothing can come to an arm of a component.
func (t *turn) armDied(c *definition.Component, a arrival) {
	switch c.Join {
	case definition.List, definition.Named:
		t.emit(&events.JoinArmDied{Component: a.component, Scope: a.scope, Arm: a.arm})
		j := t.join(a.scope, a.component)
		if j == nil || j.Closed || c.Arms[a.arm].Optional {
			t.fire(c, a.scope)
			return
		}
	case definition.Any:
		if !c.Single {
			return // whatever is behind it needs no such news
		}
		t.emit(&events.JoinArmDied{Component: a.component, Scope: a.scope, Arm: a.arm})
		if j := t.join(a.scope, a.component); j == nil || int(j.Dead) < len(c.Arms) {
			return
		}
	default:
	}
	t.die(c, a.scope, a.dead)
}

// die ends a component in a scope without running it.
func (t *turn) die(c *definition.Component, s events.ScopeID, why cause) {
	if why == suppressed {
		t.emit(&events.RunnableSuppressed{Component: uint32(c.Index), Scope: s})
	} else {
		t.emit(&events.BranchNotTaken{Component: uint32(c.Index), Scope: s})
	}
	if c.Single {
		t.dieFrom(uint32(c.Index), s, why)
	}
}

// fire activates a join whose arms have all been decided.
func (t *turn) fire(c *definition.Component, s events.ScopeID) {
	j := t.join(s, uint32(c.Index))
	if j == nil || j.Closed || int(j.Arrived+j.Dead) < len(c.Arms) {
		return
	}
	parents := make([]events.FactID, len(c.Arms))
	for i := range parents {
		if at := rows.Get[arm](t.tx, armKey(t.wf, s, uint32(c.Index), uint32(i))); at != nil {
			parents[i] = at.Fact
		}
	}
	t.activate(c, s, parents)
}

func (t *turn) join(s events.ScopeID, component uint32) *join {
	return rows.Get[join](t.tx, joinKey(t.wf, s, component))
}

// arrived assembles the value that the facts at a component's arms make.
func (t *turn) arrived(c *definition.Component, parents []events.FactID) json.RawMessage {
	for c.Join == definition.Else { // it gets what the other would have got
		c = t.graph().Components[c.Arms[0].Component]
	}
	switch c.Join {
	case definition.List:
		return t.list(parents)
	case definition.Named:
		return t.object(c, parents)
	default:
		return t.fact(parents[0]).Value
	}
}

// isFact says whether what arrives at a component is a fact as it stands, and
// not a value made of a join's arms, be it of one arm only.
func (t *turn) isFact(c *definition.Component) bool {
	for c.Join == definition.Else {
		c = t.graph().Components[c.Arms[0].Component]
	}
	return c.Join != definition.List && c.Join != definition.Named
}

func (t *turn) list(parents []events.FactID) json.RawMessage {
	b := append(t.roomFor(parents), '[')
	for i, id := range parents {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.appendFact(b, id)
	}
	return append(b, ']')
}

func (t *turn) object(c *definition.Component, parents []events.FactID) json.RawMessage {
	b := append(t.roomFor(parents), '{')
	for i, id := range parents {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, c.Arms[i].Name)
		b = append(b, ':')
		b = t.appendFact(b, id)
	}
	return append(b, '}')
}

// roomFor is room for the values of facts, once they are paid for: many arms may
// bring one large value.
func (t *turn) roomFor(parents []events.FactID) []byte {
	n := 2
	for _, id := range parents {
		if id != 0 {
			n += len(t.fact(id).Value)
		}
	}
	t.copies(n)
	return make([]byte, 0, n+2*len(parents))
}

// appendFact appends a fact's value; a dead optional arm has none.
func (t *turn) appendFact(b []byte, id events.FactID) []byte {
	if id == 0 {
		return append(b, "null"...)
	}
	return append(b, t.fact(id).Value...)
}

func appendText(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(b, quoted...)
}
