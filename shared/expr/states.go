package expr

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// Stated knows the states of what accumulates, by name.
type Stated interface {
	State(name string) json.RawMessage
}

// stateNames is what `states` evaluates to: only its fields are values.
type stateNames struct{}

// mayBeNamed are variables whose names expressions may also use for what they let: they came later.
const mayBeNamed = varError | varState | varStates

// UsesState reports whether the expression refers to `state`.
func (p *Program) UsesState() bool { return p.seen&varState != 0 }

// States are the names that the expression takes of `states`, sorted.
func (p *Program) States() []string {
	if p == nil {
		return nil
	}
	return p.states
}

// Type is what is known of the program's value once it is JSON.
func (p *Program) Type() *Type { return &Type{kinds: p.result.written()} }

// ValueType is what is known of a value that is as Decode gives it, where others of its kind may take its place.
func ValueType(v any) *Type { return &Type{kinds: kindOf(v).written()} }

// written are the kinds that values have once they were written as JSON and read again.
func (k kinds) written() kinds {
	if k&numberKind != 0 {
		k |= numberKind
	}
	if k&(timeKind|durationKind) != 0 {
		k = k&^(timeKind|durationKind) | stringKind
	}
	return k
}

// Either is what is known of a value that is of one type or another.
func Either(a, b *Type) *Type {
	if a == nil || b == nil {
		return nil
	}
	return &Type{kinds: a.kinds | b.kinds}
}

// stateOf is the name that a node takes of states; empty: it does something else.
func (c *checker) stateOf(n *ast.MemberNode) string {
	from, ok := n.Node.(*ast.IdentifierNode)
	name, constant := n.Property.(*ast.StringNode)
	if !ok || !constant || from.Value != statesName || c.allowed&varStates == 0 || c.isLet(statesName) {
		return ""
	}
	return name.Value
}

// isLet reports whether an expression around has let a name.
func (c *checker) isLet(name string) bool {
	return slices.ContainsFunc(c.lets, func(b binding) bool { return b.name == name })
}

// stateNamed notes that a state is looked at, and tells what is known of it.
func (c *checker) stateNamed(name string) kinds {
	c.program.seen |= varStates
	if i, known := slices.BinarySearch(c.program.states, name); !known {
		c.program.states = slices.Insert(c.program.states, i, name)
	}
	if t := c.known.States[name]; t != nil {
		return t.kinds
	}
	return anyKind
}

// stateNamed reads a state on first use.
func (m *machine) stateNamed(n ast.Node, name string) (any, error) {
	if v, have := m.states[name]; have {
		return v, nil
	}
	if m.env.States == nil {
		return nil, faultAt(n, "there are no states here")
	}
	v, err := decode(m.env.States.State(name), m.env.Account)
	m.most = m.env.Account.most(MaxSteps)
	if err != nil {
		return nil, faultAt(n, fmt.Sprintf("states.%s cannot be read: %v", name, err))
	}
	if m.states == nil {
		m.states = map[string]any{}
	}
	m.states[name] = v
	return v, nil
}
