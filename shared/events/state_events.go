package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// StateChanged is the new state of an accumulating component, which is its fact. Without
// parents it is the initial one, which goes nowhere. What was folded by a task, or by a
// runnable that waited, is completed instead.
type StateChanged struct {
	Fact      FactID
	Component uint32
	Scope     ScopeID
	Parents   []FactID
	Value     json.RawMessage
}

func (*StateChanged) number() int { return 54 }

// Fields implements wire.Message.
func (e *StateChanged) Fields(c *wire.Codec) {
	wire.Int(c, 1, "fact", &e.Fact)
	wire.Int(c, 2, "component", &e.Component)
	wire.Int(c, 3, "scope", &e.Scope)
	wire.Ints(c, 4, "parents", &e.Parents)
	c.JSON(5, "value", &e.Value)
}

// FactsDropped forgets an input that has settled, with what came of it, as far as these
// numbers: its runnables and suppressed activations, then its facts.
type FactsDropped struct {
	Scope      ScopeID
	Runnables  uint64
	Suppressed uint64
	Facts      uint64
	Forgotten  bool // nothing is left of it
}

func (*FactsDropped) number() int { return 55 }

// Fields implements wire.Message.
func (e *FactsDropped) Fields(c *wire.Codec) {
	wire.Int(c, 1, "scope", &e.Scope)
	wire.Int(c, 2, "runnables", &e.Runnables)
	wire.Int(c, 3, "suppressed", &e.Suppressed)
	wire.Int(c, 4, "facts", &e.Facts)
	c.Bool(5, "forgotten", &e.Forgotten)
}
