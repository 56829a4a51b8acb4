package definition

import (
	"fmt"
	"math/bits"
)

// The analysis of how often a component can be activated in one scope.
//
// Each guarded component c (a condition, or one with `when`) that is activated at most once per scope splits the scope
// in two: c was taken, or it was not. So does one whose failures are caught: it yielded, or it failed. What a component needs of these splits is a set of literals: (c taken) for
// everything that c's fact leads to, (c not taken) for its else, (c did not yield) for what catches its failure. Two components of which one needs (c taken) and the
// other (c not taken) exclude each other: at most one of them yields in a scope. That makes `any` over a branch and its
// else count as single, and a join that needs both impossible.

// literals is a set of literals: bit 2i for guard i taken, 2i+1 for not taken.
type literals []uint64

func (l literals) add(bit int) { l[bit/64] |= 1 << (bit % 64) }

func (l literals) union(o literals) {
	for i := range l {
		l[i] |= o[i]
	}
}

func (l literals) intersect(o literals) {
	for i := range l {
		l[i] &= o[i]
	}
}

const takenBits = 0x5555555555555555 // the even bits

// excludes reports whether one set takes a guard that the other does not.
func (l literals) excludes(o literals) (guard int, ok bool) {
	for i := range l {
		clash := l[i]&takenBits<<1&o[i] | o[i]&takenBits<<1&l[i]
		if clash != 0 {
			return (64*i + bits.TrailingZeros64(clash)) / 2, true
		}
	}
	return 0, false
}

// analysis holds, by component, the literals of its activation and of its facts.
type analysis struct {
	*builder
	guards            []int // component of each guard
	number            []int // guard of each component, −1 if none
	caught            []int // likewise of one whose failures are caught
	activated, yields []literals
	impossible        []bool
}

// analyse finds how often each component runs per scope, and refuses joins that could run more often than once or never.
func (b *builder) analyse() {
	n := len(b.graph.Components)
	a := analysis{builder: b, number: make([]int, n), caught: make([]int, n), activated: make([]literals, n), yields: make([]literals, n), impossible: make([]bool, n)}
	for i, c := range b.graph.Components {
		a.number[i] = a.guard(c.Guarded(), i)
		a.caught[i] = a.guard(c.Caught(), i)
	}
	for _, i := range b.order {
		a.component(b.graph.Components[i])
	}
}

// guard is the number of a guard of component i, if it has one.
func (a *analysis) guard(has bool, i int) int {
	if !has {
		return -1
	}
	a.guards = append(a.guards, i)
	return len(a.guards) - 1
}

func (a *analysis) empty() literals { return make(literals, (2*len(a.guards)+63)/64) }

func (a *analysis) component(c *Component) {
	a.activated[c.Index] = a.needs(c)
	c.Single = a.single(c)
	a.contradiction(c)
	yields := a.empty()
	yields.union(a.activated[c.Index])
	for _, g := range [...]int{a.number[c.Index], a.caught[c.Index]} {
		if g >= 0 && c.Single {
			yields.add(2 * g)
		}
	}
	a.yields[c.Index] = yields
}

// needs is what holds in every scope in which c is activated.
func (a *analysis) needs(c *Component) literals {
	needs := a.empty()
	switch c.Join {
	case Root, Part:
	case Fold:
		needs.union(a.yields[c.Arms[1].Component])
	case Else:
		of := c.Arms[0].Component
		needs.union(a.activated[of])
		if g := a.number[of]; g >= 0 && a.graph.Components[of].Single {
			needs.add(2*g + 1)
		}
	case Catch:
		of := c.Arms[0].Component
		needs.union(a.activated[of])
		if a.graph.Components[of].Single {
			needs.add(2*a.caught[of] + 1)
			if g := a.number[of]; g >= 0 { // what was not taken has not failed
				needs.add(2 * g)
			}
		}
	case Any, First:
		for i, arm := range c.Arms {
			if yields := a.yielded(arm); i == 0 {
				needs.union(yields)
			} else {
				needs.intersect(yields)
			}
		}
	default:
		for _, arm := range c.Arms {
			if !arm.Optional {
				needs.union(a.yielded(arm))
			}
		}
	}
	if c.Each != nil {
		for _, arm := range c.Each.Captures {
			if !arm.Optional {
				needs.union(a.yielded(arm))
			}
		}
	}
	return needs
}

// yielded is what holds where an arm brings a value. What is from outside of a scope says nothing
// about it.
func (a *analysis) yielded(arm Arm) literals {
	if arm.Outer {
		return a.empty()
	}
	return a.yields[arm.Component]
}

// once reports whether an arm brings one value per scope at most.
func (a *analysis) once(arm Arm) bool { return arm.Outer || a.graph.Components[arm.Component].Single }

// single reports whether c is activated at most once per scope. The arms of a join must be.
func (a *analysis) single(c *Component) bool {
	if c.Captures() > 0 {
		a.capturedOnce(c)
	}
	switch c.Join {
	case Root, Part:
		return true
	case List, Named, First:
		a.joinArms(c)
		return true
	case Fold:
		a.foldedOnce(c)
		return true
	case Any:
		for i, arm := range c.Arms {
			if !a.once(arm) {
				return false
			}
			for _, other := range c.Arms[:i] {
				if _, ok := a.yielded(arm).excludes(a.yielded(other)); !ok {
					return false
				}
			}
		}
		return true
	default:
		if of := a.graph.Components[c.Arms[0].Component]; !a.once(c.Arms[0]) && c.Conditions > 0 {
			a.fail(a.spec.components[c.Index].path,
				fmt.Sprintf("%q can yield more than once per input, so named conditions cannot tell which fact they hold for", of.Name),
				"write the conditions in rule.when")
			return true
		}
		return a.once(c.Arms[0])
	}
}

// foldedOnce refuses a reduce over what can yield more often than once for an element, or over a map that can run
// more often than once in its scope.
func (a *analysis) foldedOnce(c *Component) {
	for _, arm := range c.Arms {
		if parent := a.graph.Components[arm.Component]; !parent.Single {
			a.fail(join(a.spec.components[c.Index].path, "reduce"),
				fmt.Sprintf("%q can yield more than once in its scope, so a reduce cannot wait for it", parent.Name),
				"make the arms of its any exclude each other with a condition and its else")
		}
	}
}

// capturedOnce refuses a map that waits for values from outside and could run, or get one of them, more often than
// once in its scope.
func (a *analysis) capturedOnce(c *Component) {
	for _, arms := range [][]Arm{c.Arms, c.Each.Captures} {
		for _, arm := range arms {
			if !a.once(arm) {
				a.fail(a.spec.components[c.Index].path,
					fmt.Sprintf("%q can yield more than once in its scope, so a map whose body takes values from outside cannot wait for it", a.graph.Components[arm.Component].Name),
					"make the arms of its any exclude each other with a condition and its else")
			}
		}
	}
}

func (a *analysis) joinArms(c *Component) {
	for i, arm := range c.Arms[:c.Own()] {
		parent := a.graph.Components[arm.Component]
		if a.once(arm) {
			continue
		}
		a.fail(a.spec.components[c.Index].arms[i].path,
			fmt.Sprintf("%q can yield more than once per input, so a join cannot wait for it", parent.Name),
			"make the arms of its any exclude each other with a condition and its else, or join them one by one")
	}
}

// contradiction refuses a component that needs a branch and its else at once. What stands behind it is not reported again.
func (a *analysis) contradiction(c *Component) {
	for _, arm := range c.Arms {
		if a.impossible[arm.Component] && !arm.Optional && !arm.Outer && c.Join != Any && c.Join != First {
			a.impossible[c.Index] = true
			return
		}
	}
	needs := a.activated[c.Index]
	if guard, clash := needs.excludes(needs); clash {
		a.impossible[c.Index] = true
		name := a.graph.Components[a.guards[guard]].Name
		a.fail(a.spec.components[c.Index].path,
			fmt.Sprintf("can never run: it needs %q to be taken and not to be taken", name),
			"make one arm optional, or use any")
	}
}
