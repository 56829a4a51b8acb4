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
	KindMap       Kind = 6 // works on each element of a list in a scope of its own
	KindReduce    Kind = 7 // folds the results of a map, or a list, to one value

	KindUntil        Kind = 10 // passes the value on at a time
	KindIdleFor      Kind = 11 // passes the value on when another component has been silent for a time
	KindSignal       Kind = 12 // waits for a signal; its value is the fact
	KindAccumulate   Kind = 8  // folds what arrives into a state, one at a time
	KindStateMachine Kind = 9  // the same, with parts that react to the state
)

// kindNames are the names of the kinds in definitions and rules.
var kindNames = [...]string{
	KindStep: "step", KindExpr: "expr", KindCondition: "condition", KindSleep: "sleep", KindRule: "rule",
	KindMap: "map", KindReduce: "reduce",
	KindUntil: "until", KindIdleFor: "idle_for", KindSignal: "signal",
	KindAccumulate: "accumulate", KindStateMachine: "state_machine",
}

// String is the name of the kind in definitions and rules; empty if there is no such kind.
func (k Kind) String() string { return kindNames[k] }

// Kinds are all kinds, ascending.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kindNames))
	for k, name := range kindNames {
		if name != "" {
			all = append(all, Kind(k))
		}
	}
	return all
}

// kindNamed finds a kind by its name; 0: there is none.
func kindNamed(name string) Kind { return Kind(max(0, slices.Index(kindNames[:], name))) }

// knownKinds are the names of all kinds, for errors.
func knownKinds() []string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.String())
	}
	slices.Sort(all)
	return all
}
