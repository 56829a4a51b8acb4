package definition

import (
	"cmp"
	"fmt"
	"strings"
)

// Bodies of maps. A component in one may take values from outside, where they are the same
// for every element: the map captures them, which means that it waits for them as for an
// arm of its own, and hands them to each of its scopes.

// compare orders edges.
func (e Edge) compare(f Edge) int {
	return cmp.Or(cmp.Compare(e.Component, f.Component), cmp.Compare(e.Arm, f.Arm))
}

// around reports whether a scope is another one, or around it.
func (p *part) around(inner *part) bool {
	for ; inner != nil; inner = inner.within {
		if inner == p {
			return true
		}
	}
	return false
}

// bodies says of each component in which body it is, and refuses names that would hide another.
func (b *builder) bodies() {
	for _, p := range b.spec.components {
		p.Within = -1
		if p.within == nil {
			continue
		}
		p.Within = p.within.Index
		if hidden := b.resolve(p.within.within, p.Local()); hidden != nil {
			b.fail(p.path, fmt.Sprintf("%q is the name of a component around it too", p.Local()), "rename one: inside, both could be meant")
		}
	}
}

// resolve finds a component by its name, in a body or in what is around it.
func (b *builder) resolve(within *part, name string) *Component {
	if strings.ContainsAny(name, "./") { // the full name of one in a body, or of a part
		return nil
	}
	for ; within != nil; within = within.within {
		if c := b.graph.Lookup(within.Name + "." + name); c != nil {
			return c
		}
	}
	return b.graph.Lookup(name)
}

// bodyWith is a map that has a component of that name, full or in its body, in its body; nil: none has.
func (b *builder) bodyWith(name string) *part {
	for _, p := range b.spec.components {
		if p.within != nil && (p.Name == name || p.Local() == name) {
			return p.within
		}
	}
	return nil
}

// namesIn are those of the components in the body of a map.
func (b *builder) namesIn(m *Component) (names []string) {
	for _, p := range b.spec.components {
		if p.Within == m.Index && !strings.Contains(p.Local(), "/") {
			names = append(names, p.Local())
		}
	}
	return names
}

// someOf is a component in the body of a map, for an example.
func (b *builder) someOf(m *Component) string {
	if names := b.namesIn(m); len(names) > 0 {
		return names[0]
	}
	return "NAME"
}

// foldArms connects a reduce to the component whose values it folds, and to its map, which says
// when there are no more.
func (b *builder) foldArms(p *part, arm *armSpec) (known bool) {
	name, inner, _ := strings.Cut(arm.parent, ".")
	over := b.resolve(p.within, name)
	switch {
	case over == nil && name == inputName:
		b.fail(arm.path, "a reduce folds the whole input", "fold a component that takes the list out of it: {expr: "+arm.parent+"}")
		return false
	case over == nil:
		b.fail(arm.path, fmt.Sprintf("unknown component %q", name), b.nearest(p.within, name))
		return false
	case over.Each == nil:
		b.fail(arm.path, fmt.Sprintf("%q has no body", name), "name a map, and a component in its body")
		return false
	case strings.Contains(inner, "."):
		b.fail(arm.path, "reaches into a body within a body", fmt.Sprintf("fold %q in the body of %q, and the values of that here", inner, name))
		return false
	case over.Within != p.Within:
		b.fail(arm.path, fmt.Sprintf("the map %q is not beside this reduce", name), "move the reduce to where the map is")
		return false
	}
	of := b.graph.Lookup(over.Name + "." + inner)
	if of == nil {
		b.fail(arm.path, fmt.Sprintf("the body of %q has no component %q", name, inner), nearestOf(inner, b.namesIn(over)))
		return false
	}
	of.Children = append(of.Children, Edge{Component: p.Index})
	over.Children = append(over.Children, Edge{Component: p.Index, Arm: 1})
	p.Arms = []Arm{{Component: of.Index, Outer: true}, {Component: over.Index}}
	p.folding().Over = over.Index
	over.Each.Folds = append(over.Each.Folds, p.Index)
	return true
}

// captures lets each map wait for what its body takes from outside; false: one cannot.
func (b *builder) captures() bool {
	before := len(b.errs)
	for _, p := range b.spec.components {
		for n, arm := range p.Arms {
			if !arm.Outer || p.Join == Fold || p.Join == Else || p.Join == Catch {
				continue
			}
			if len(p.arms) == 0 { // the element, which has its edge already
				continue
			}
			b.handDown(p, n, arm)
		}
	}
	for _, p := range b.spec.components {
		if p.Captures() == 0 {
			continue
		}
		if p.Join == Any || p.Join == Else || p.Join == Catch || p.Join == First {
			b.fail(p.path, "its body takes values from outside, so it cannot be fed by "+p.Join.String(),
				"put a component in between: {expr: input, after: {any: …}}")
		}
	}
	return len(b.errs) == before
}

// handDown brings what a component's arm takes from outside through the maps in between.
func (b *builder) handDown(p *part, n int, arm Arm) {
	from := b.spec.components[arm.Component]
	scope := from.within // of the value
	if from.around(p.within) {
		scope = from // it is the element
	}
	var chain []*part // the maps that have to capture it, from the innermost
	for m := p.within; m != scope; m = m.within {
		chain = append(chain, m)
	}
	captured := 0
	for i := len(chain) - 1; i >= 0; i-- {
		captured = b.capture(chain[i], from, captured, arm.Optional || p.Join == Any)
	}
	p.within.Each.Body = append(p.within.Each.Body, Edge{Component: p.Index, Arm: n, Captured: captured})
}

// capture lets a map capture a value, once; it is that capture's number. above is the number of the
// map around it, 0 where the value is beside the map or the element of the map around it.
func (b *builder) capture(m, from *part, above int, optional bool) int {
	for i := range m.Each.Captures {
		if c := &m.Each.Captures[i]; c.Component == from.Index {
			c.Optional = c.Optional && optional
			return i + 1
		}
	}
	e := Edge{Component: m.Index, Arm: m.Fed() + len(m.Each.Captures), Captured: above}
	m.Each.Captures = append(m.Each.Captures, Arm{Component: from.Index, Optional: optional, Outer: from.within != m.within})
	if from.within == m.within {
		from.Children = append(from.Children, e)
	} else {
		m.within.Each.Body = append(m.within.Each.Body, e)
	}
	return len(m.Each.Captures)
}

// needs visits what a component has to come behind.
func (b *builder) needs(c *Component, visit func(parent int)) {
	if c.Within >= 0 {
		visit(c.Within)
	}
	for _, arm := range c.Arms {
		visit(arm.Component)
	}
	if c.Each != nil {
		for _, arm := range c.Each.Captures {
			visit(arm.Component)
		}
	}
}

// Captures is how many values from outside the body of a map takes.
func (c *Component) Captures() int {
	if c.Each == nil {
		return 0
	}
	return len(c.Each.Captures)
}

// Fed is how many facts make the value that arrives at a map, in front of those that are captured.
func (c *Component) Fed() int { return max(1, len(c.Arms)) }

// Awaited is how many arms a component has, with what is captured and, if it waits for that, the input.
func (c *Component) Awaited() int {
	if n := c.Captures(); n > 0 {
		return c.Fed() + n
	}
	return len(c.Arms)
}

// Optional reports whether an arm may be dead where the component runs.
func (c *Component) Optional(arm int) bool {
	if c.Captures() > 0 && arm >= c.Fed() {
		return c.Each.Captures[arm-c.Fed()].Optional
	}
	return arm < len(c.Arms) && c.Arms[arm].Optional
}
