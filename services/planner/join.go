package planner

import (
	"encoding/json"

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
		fl.dieFrom(uint32(c.Index), s, why)
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

func (js *joins) get(s events.ScopeID, component uint32) *join {
	return rows.Get[join](js.tx, joinKey(js.id, s, component))
}

// arrived assembles the value that the facts at a component's arms make.
func (fs *facts) arrived(c *definition.Component, parents []events.FactID) json.RawMessage {
	for c.Join == definition.Else { // it gets what the other would have got
		c = fs.graph().Components[c.Arms[0].Component]
	}
	switch c.Join {
	case definition.List:
		return fs.list(parents)
	case definition.Named:
		return fs.object(c, parents)
	default:
		return fs.get(parents[0]).Value
	}
}

// isFact says whether what arrives at a component is a fact as it stands, and
// not a value made of a join's arms, be it of one arm only.
func (fs *facts) isFact(c *definition.Component) bool {
	for c.Join == definition.Else {
		c = fs.graph().Components[c.Arms[0].Component]
	}
	return c.Join != definition.List && c.Join != definition.Named
}

func (fs *facts) list(parents []events.FactID) json.RawMessage {
	b := append(fs.roomFor(parents), '[')
	for i, id := range parents {
		if i > 0 {
			b = append(b, ',')
		}
		b = fs.appendFact(b, id)
	}
	return append(b, ']')
}

func (fs *facts) object(c *definition.Component, parents []events.FactID) json.RawMessage {
	b := append(fs.roomFor(parents), '{')
	for i, id := range parents {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, c.Arms[i].Name)
		b = append(b, ':')
		b = fs.appendFact(b, id)
	}
	return append(b, '}')
}

// roomFor is room for the values of facts, once they are paid for: many arms may
// bring one large value.
func (fs *facts) roomFor(parents []events.FactID) []byte {
	n := 2
	for _, id := range parents {
		if id != 0 {
			n += len(fs.get(id).Value)
		}
	}
	fs.spend.copies(n)
	return make([]byte, 0, n+2*len(parents))
}

// appendFact appends a fact's value; a dead optional arm has none.
func (fs *facts) appendFact(b []byte, id events.FactID) []byte {
	if id == 0 {
		return append(b, "null"...)
	}
	return append(b, fs.get(id).Value...)
}

func appendText(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(b, quoted...)
}
