package events

import "github.com/heddle-run/heddle/shared/wire"

// BranchNotTaken says that a component does not run in this scope, because a
// condition did not hold.
type BranchNotTaken struct {
	Component uint32
	Scope     ScopeID
}

func (*BranchNotTaken) number() int { return 14 }

// Fields implements wire.Message.
func (e *BranchNotTaken) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "scope", &e.Scope)
}

// JoinArmArrived brings a fact to one arm of a join.
type JoinArmArrived struct {
	Component uint32
	Scope     ScopeID
	Arm       uint32
	Fact      FactID
}

func (*JoinArmArrived) number() int { return 15 }

// Fields implements wire.Message.
func (e *JoinArmArrived) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "scope", &e.Scope)
	wire.Int(c, 3, "arm", &e.Arm)
	wire.Int(c, 4, "fact", &e.Fact)
}

// JoinArmDied says that nothing can come to this arm any more.
type JoinArmDied struct {
	Component uint32
	Scope     ScopeID
	Arm       uint32
}

func (*JoinArmDied) number() int { return 35 }

// Fields implements wire.Message.
func (e *JoinArmDied) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &e.Component)
	wire.Int(c, 2, "scope", &e.Scope)
	wire.Int(c, 3, "arm", &e.Arm)
}
