// Package definition is the declared graph of a workflow: it parses JSON or YAML, checks it with paths, gives it its
// canonical form and digest, and compiles it into a Graph that the planner walks by index. It is pure.
package definition

import (
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// Graph is a compiled definition. It is immutable and safe for concurrent use.
//
// Components are sorted by name, and Component.Index is the position in that order: it depends on the definition alone,
// so an index together with the digest identifies a component for ever. The graph of a run that was migrated keeps the
// positions that names have had before.
type Graph struct {
	Digest  string // "sha256:" + hex
	Name    string
	Version string // empty if the definition gives none

	Components []*Component
	Roots      []int    // components fed by the input, ascending
	Outputs    []Output // declared outputs, else the leaves; sorted by name
	Options    Options
	Rules      []policy.Rule // the definition's policies
	Signals    []SignalName  // that components wait for, sorted
	Watched    []int         // the accumulating components whose states expressions look at, ascending

	input   *inputSchema // nil = any input
	context runContext
	byName  map[string]int // the components that are there, by name
}

// Output is one named result of a workflow.
type Output struct {
	Name      string
	Component int
}

// Join is how the facts of the parents become activations.
type Join uint8

// The joins.
const (
	Root   Join = 0 // fed by the input; no arms
	Single Join = 1 // one arm: each of its facts
	List   Join = 2 // waits for all arms; the value is the list in arm order
	Named  Join = 3 // waits for all arms; the value is an object by arm name
	Any    Join = 4 // each fact of each arm
	Else   Join = 5 // one arm: the value that it would have received, where its condition or `when` did not hold
	Catch  Join = 6 // one arm: its failure for good, as {error, value}
	First  Join = 7 // fires at Count arrivals; the value is the one that arrived, or of several the list in arm order
	Fold   Join = 8 // two arms: each fact of the first, which is in the body of a map, and the end of the map
	Part   Join = 9 // one arm: it is a part of that component, which runs it with what arrived there
)

// Component is one node of the graph. One in the body of a map is called MAP.NAME. Input, When, Expr and Sleep see the arriving value as `input`: the value of the
// parent, or, in a List or Named join, the list or object of all arms. `when` is evaluated after joining, on that value;
// in an Any on each arriving value. Where it does not hold the component is not taken, and what an Else of it receives
// is that same value.
type Component struct {
	Index int
	Name  string
	Kind  policy.Kind

	Task   string        // Step
	Queue  string        // Step: where its attempts go, unless Policy.Queue says otherwise
	Params *Params       // Step; nil = none
	Input  *expr.Program // Step: shapes the value; nil = as it arrives
	Expr   *expr.Program // Expr, Condition
	Sleep  Duration      // Sleep
	Until  Time          // Until
	Idle   Idle          // IdleFor
	Signal *Signal       // Signal
	Each   *Each         // Map
	Fold   *Folding      // Reduce
	When   *expr.Program // nil = always
	Guard  *expr.Program // Rule: its own condition; nil = none

	Accumulate *Accumulate // Accumulate, StateMachine: the state
	Reactor    *Reactor    // of a part that reacts to a state; nil: it is no such part
	States     []int       // the accumulating components whose states its expressions look at, ascending

	Context  []byte   // values given with the component: a canonical JSON object; nil = none
	Requires []string // keys that the context it sees must have, sorted

	Within   int // the map in whose body the component is; -1: in none
	Join     Join
	Arms     []Arm  // parents, in declared order (Named: sorted by arm name), then a rule's named conditions
	Count    int    // First: how many arms must arrive
	Races    []int  // the First components that make this one pointless when they have fired
	Race     []int  // First: the components that are pointless when it has fired
	Children []Edge // sorted by (component, arm)
	Single   bool   // activated at most once per scope
	Leaf     bool   // no component consumes its value
	Gone     bool   // the definition has it no more; it stands for its number
	Silences []int  // the idle_for components that wait for its silence

	Conditions int  // named conditions of a rule: so many of the last arms
	AnyOf      bool // one of them must hold, not all

	Rules []policy.Rule // the component's own policy; at most one

	context  []field // Context by field
	form     form
	resolved resolved
}

// Arm is one parent of a component.
type Arm struct {
	Component int
	Name      string // Named only
	Optional  bool   // null once the parent cannot come any more in this scope
	Outer     bool   // from outside of the scope, where it is the same for every element; or the element itself
}

// Edge leads from a component to arm Arm of a child.
type Edge struct {
	Component int
	Arm       int
	Else      bool // the child is Component's else: it runs where this component was not taken
	Catch     bool // the child catches failures of this component
	Captured  int  // in the body of a map: what the edge brings is the map's capture of this number, from 1; 0: the element
	Reactor   bool // the child reacts to this component's state
}

// Guarded reports whether the component can be not taken: a condition, or one with `when`.
func (c *Component) Guarded() bool { return kinds[c.Kind].guards || c.When != nil }

// Own is how many arms bring what the component works on: all but a rule's named conditions.
func (c *Component) Own() int { return len(c.Arms) - c.Conditions }

// Outward is how many maps are around a component and not around another one, in whose body it is, or in the body
// of whose maps.
func (g *Graph) Outward(c, to *Component) (n int) {
	for within := c.Within; within != to.Within && within >= 0; within = g.Components[within].Within {
		n++
	}
	return n
}

// Waits reports whether the component waits in each scope until it is decided what comes to its arms.
func (c *Component) Waits() bool {
	return c.Join == List || c.Join == Named || c.Join == First || c.Conditions > 0 || c.Captures() > 0
}

// Caught reports whether another component catches its failures.
func (c *Component) Caught() bool {
	return slices.ContainsFunc(c.Children, func(e Edge) bool { return e.Catch })
}

// Local is the component's name in the body that it is in.
func (c *Component) Local() string { return c.Name[strings.LastIndexByte(c.Name, '.')+1:] }

// path is where the component stands in its definition.
func (c *Component) path() string {
	name, reactor, is := strings.Cut(c.Name, reactorPart)
	path := join("components", strings.ReplaceAll(name, ".", ".do."))
	if is {
		path += ".reactors[" + reactor + "].then"
	}
	return path
}
