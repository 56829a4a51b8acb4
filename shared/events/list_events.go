package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// ListTaken gives a runnable the list that it goes through.
type ListTaken struct {
	Runnable RunnableID
	Elements []Element
}

// Element is one element of a list.
type Element struct {
	Value json.RawMessage `json:"value"`
}

// Fields implements wire.Message.
func (e *Element) Fields(c *wire.Codec) { c.JSON(1, "value", &e.Value) }

func (*ListTaken) number() int { return 50 }

// Fields implements wire.Message.
func (e *ListTaken) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Repeated(c, 2, "elements", &e.Elements)
}

func (e *ListTaken) weight() int {
	n := leastEvent
	for i := range e.Elements {
		n += 2 + len(e.Elements[i].Value)
	}
	return n
}

// ElementFailed says that something in a nested scope has failed for good, or was skipped: its
// element counts as failed from now on.
type ElementFailed struct {
	Scope ScopeID
	Error TaskError
}

func (*ElementFailed) number() int { return 51 }

// Fields implements wire.Message.
func (e *ElementFailed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "scope", &e.Scope)
	wire.Nested(c, 2, "error", &e.Error)
}

// ResultKept keeps what came of an element for a fold that is not there yet.
type ResultKept struct {
	Component uint32
	Place     uint64 // of the fold: the scope, or the fact with the list
	Index     uint64 // of the element
	Fact      FactID // 0: nothing came
	Dead      uint8  // why
	Error     *TaskError
}

func (*ResultKept) number() int { return 52 }

// Fields implements wire.Message.
func (e *ResultKept) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "place", &e.Place)
	wire.Int(c, 3, "index", &e.Index)
	wire.Int(c, 4, "fact", &e.Fact)
	wire.Int(c, 5, "dead", &e.Dead)
	wire.Optional(c, 6, "error", &e.Error)
}

// Folded says how far a fold has come, and what came of it so far: a value, that of a fact, or,
// with neither, the same as before.
type Folded struct {
	Component uint32
	Place     uint64
	Next      uint64 // index of the next element
	Value     json.RawMessage
	Fact      FactID
	Failed    uint64 // elements among those that were left out because they failed
	Last      FactID // the newest that was folded; 0: none was
}

func (*Folded) number() int { return 53 }

// Fields implements wire.Message.
func (e *Folded) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "place", &e.Place)
	wire.Int(c, 3, "next", &e.Next)
	c.JSON(4, "value", &e.Value)
	wire.Int(c, 5, "fact", &e.Fact)
	wire.Int(c, 6, "failed", &e.Failed)
	wire.Int(c, 7, "last", &e.Last)
}
