package policy

import "slices"

// Kind is what a component does with a fact that arrives.
type Kind uint8

// The kinds. Values are recorded: never reuse or renumber one.
const (
	KindStep      Kind = 1 // runs a task
	KindExpr      Kind = 2 // evaluates an expression; its value is the fact
	KindCondition Kind = 3 // passes the original fact on where the expression is true
	KindSleep     Kind = 4 // passes the value on after a time
	KindRule      Kind = 5 // a condition, and a step or an expression where it holds
)

// kindNames are the names of the kinds in definitions and rules.
var kindNames = [...]string{KindStep: "step", KindExpr: "expr", KindCondition: "condition", KindSleep: "sleep", KindRule: "rule"}

// String is the name of the kind in definitions and rules; empty if there is no such kind.
func (k Kind) String() string { return kindNames[k] }

// Kinds are all kinds, ascending.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kindNames)-1)
	for k := 1; k < len(kindNames); k++ {
		all = append(all, Kind(k))
	}
	return all
}

// kindNamed finds a kind by its name; 0: there is none.
func kindNamed(name string) Kind { return Kind(max(0, slices.Index(kindNames[:], name))) }

// knownKinds are the names of all kinds, for errors.
func knownKinds() []string {
	return slices.Sorted(slices.Values(kindNames[1:]))
}
