package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// FannedOut says that a runnable has scopes of its own from now on: one for each of its
// elements or iterations.
type FannedOut struct{ Runnable RunnableID }

func (*FannedOut) number() int { return 42 }

// Fields implements wire.Message.
func (e *FannedOut) Fields(c *wire.Codec) { wire.Int(c, 1, "runnable", &e.Runnable) }

// ScopeOpened opens a scope within the scope of a runnable, with the fact that names it.
type ScopeOpened struct {
	Runnable RunnableID
	Fact     FactID // also the scope's id
	Index    uint64 // of the element or the iteration, from 0
	Value    json.RawMessage
}

func (*ScopeOpened) number() int { return 43 }

// Fields implements wire.Message.
func (e *ScopeOpened) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "fact", &e.Fact)
	wire.Int(c, 3, "index", &e.Index)
	c.JSON(4, "value", &e.Value)
}

// ScopeClosed closes a nested scope: nothing that descends from its fact is open.
type ScopeClosed struct{ Scope ScopeID }

func (*ScopeClosed) number() int { return 44 }

// Fields implements wire.Message.
func (e *ScopeClosed) Fields(c *wire.Codec) { wire.Int(c, 1, "scope", &e.Scope) }
