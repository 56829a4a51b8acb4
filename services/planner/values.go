package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// arrived assembles the value that the facts at a component's arms make.
func (fs *facts) arrived(c *definition.Component, parents []events.FactID) json.RawMessage {
	for c.Join == definition.Else || c.Join == definition.Part { // it gets what the other would have got
		c = fs.graph().Components[c.Arms[0].Component]
	}
	if n := c.Captures(); n > 0 {
		parents = parents[:c.Fed()]
	}
	switch c.Join {
	case definition.List:
		return fs.list(parents)
	case definition.Named:
		return fs.object(c, parents)
	default:
		if c.Count > 1 {
			return fs.list(parents)
		}
		return fs.get(parents[0]).Value
	}
}

// isFact reports whether what arrives at a component is a fact as it stands, and
// not a value made of a join's arms, be it of one arm only.
func (fs *facts) isFact(c *definition.Component) bool {
	for c.Join == definition.Else || c.Join == definition.Part {
		c = fs.graph().Components[c.Arms[0].Component]
	}
	return c.Join != definition.List && c.Join != definition.Named && c.Count <= 1
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

// value is what arrived at a component, as its expressions and its task see it.
func (fs *facts) value(c *definition.Component, a activation) json.RawMessage {
	if len(a.input) > 0 {
		return a.input
	}
	return fs.arrived(c, a.parents)
}

func (fs *facts) depth(parents []events.FactID) uint32 {
	var most uint32
	for _, id := range parents {
		if id != 0 {
			most = max(most, fs.get(id).Depth+1)
		}
	}
	return most
}
