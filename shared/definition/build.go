package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/spelling"
)

// builder connects the parts of a spec to a graph.
type builder struct {
	spec        *spec
	graph       *Graph
	errs        Errors
	signalNames []string // in the order of their numbers, as far as they have one

	order []int // components with parents before children; shorter than the components if there is a cycle

	catching bool                  // the expressions that are checked see an error
	checked  *part                 // whose expressions are checked; nil: of no component
	state    *stateType            // that they see as state; nil: they see none
	states   map[string]*expr.Type // what is known of the states of accumulating components
}

func (b *builder) fail(path, message, fix string) {
	b.errs = collect(b.errs, Error{Path: path, Message: message, Fix: fix})
}

func (b *builder) build() {
	g := b.graph
	g.Components = make([]*Component, len(b.spec.components))
	g.byName = make(map[string]int, len(g.Components))
	for i, p := range b.spec.components {
		p.Index = i
		g.Components[i] = &p.Component
		if !p.Gone {
			g.byName[p.Name] = i
		}
	}
	b.bodies()
	known := b.connect()
	b.outputs()
	b.signals()
	if known && b.sort() {
		b.races()
		b.analyse()
		b.typed()
	}
	if b.errs == nil {
		b.errs = collect(b.errs, g.checkRules(g.Rules)...)
		b.ownRules()
	}
	if b.errs != nil {
		return
	}
	for _, c := range g.Components {
		g.prepare(c)
	}
}

// connect turns parents' names into arms and children. known: every component has its parents.
func (b *builder) connect() (known bool) {
	known = true
	for _, p := range b.spec.components {
		if p.Join == Single && kinds[p.Kind].fed && p.arms[0].parent == inputName && b.resolve(p.within, inputName) == nil {
			p.Join, p.arms = Root, nil
		}
		switch {
		case p.Join == Root && len(p.conditions) == 0: // else those tell it when the input, or the element, has come
			b.root(p)
		case p.Join != Root && p.Join != Part && len(p.arms) == 0: // refused already
			known = false
		}
		if p.own != nil {
			p.own.Arms = []Arm{{Component: p.Index}}
		}
		for i := range p.arms {
			known = b.arm(p, &p.arms[i]) && known
		}
		known = b.connectConditions(p) && known
		b.counted(p)
	}
	if known {
		known = b.captures()
	}
	for _, c := range b.graph.Components {
		slices.SortFunc(c.Children, Edge.compare)
		if c.Each != nil {
			slices.SortFunc(c.Each.Body, Edge.compare)
		}
		c.Leaf = c.Join != Part && !slices.ContainsFunc(c.Children, func(e Edge) bool { return !e.Else && !e.Catch && !e.Reactor })
	}
	return known
}

// root feeds a component by the input, or by the element of the map that it is in.
func (b *builder) root(p *part) {
	if p.within == nil {
		b.graph.Roots = append(b.graph.Roots, p.Index)
		return
	}
	p.Join = Single
	p.Arms = []Arm{{Component: p.Within, Outer: true}}
	p.within.Each.Body = append(p.within.Each.Body, Edge{Component: p.Index})
}

// arm connects a component to one of its parents; false: it has no such parent.
func (b *builder) arm(p *part, arm *armSpec) (known bool) {
	if p.Join == Fold {
		return b.foldArms(p, arm)
	}
	parent := b.resolve(p.within, arm.parent)
	if parent == nil {
		b.fail(arm.path, fmt.Sprintf("unknown component %q", arm.parent), b.nearest(p.within, arm.parent))
		return false
	}
	outer := parent.Within != p.Within
	switch beside := p.Join == Else || p.Join == Catch; {
	case beside && outer:
		b.fail(arm.path, fmt.Sprintf("%q is outside of this body", arm.parent), "put it beside that component")
		return false
	case p.Join == Else && parent.Kind != 0 && !parent.Guarded():
		b.fail(arm.path, fmt.Sprintf("%q has neither condition nor when, so it has no else", arm.parent), "give it a when")
	case p.Fold != nil && parent.Each != nil && !b.spec.components[parent.Index].around(p.within):
		b.fail(arm.path, fmt.Sprintf("the value of the map %q is {elements, failed}, which is no list", arm.parent), "fold a component of its body: "+arm.parent+"."+b.someOf(parent))
	}
	if !outer {
		parent.Children = append(parent.Children, Edge{Component: p.Index, Arm: len(p.Arms), Else: p.Join == Else, Catch: p.Join == Catch, Reactor: p.Reactor != nil})
	}
	p.Arms = append(p.Arms, Arm{parent.Index, arm.name, arm.optional, outer})
	return true
}

// inputName is what a component that names what feeds it calls the input.
const inputName = "input"

// nearest suggests the component that was probably meant, of those that can be named there.
func (b *builder) nearest(within *part, name string) string {
	if name == inputName {
		return "a component without after and in is fed by the input"
	}
	if whole, _, isPart := strings.Cut(name, "/"); isPart && b.graph.Lookup(name) != nil {
		return fmt.Sprintf("it is a part of %q, which no other can name", whole)
	}
	if in := b.bodyWith(name); in != nil {
		return fmt.Sprintf("it is in the body of %q: a reduce takes its values out of there, as %s.%s", in.Name, in.Local(), name[strings.LastIndexByte(name, '.')+1:])
	}
	var names []string
	for _, p := range b.spec.components {
		if p.within == nil || p.within.around(within) {
			names = append(names, p.Local())
		}
	}
	return nearestOf(name, names)
}

// nearestOf is the fix of a name that is none of names: the one that was probably meant, if one is like it.
func nearestOf(name string, names []string) string {
	if best := spelling.Nearest(name, names); best != "" {
		return "nearest: " + best
	}
	return ""
}

func (b *builder) outputs() {
	g := b.graph
	for _, o := range b.spec.outputs {
		c := g.Lookup(o.component)
		if c == nil || c.Within >= 0 || strings.Contains(o.component, "/") {
			b.fail(o.path, fmt.Sprintf("unknown component %q", o.component), b.nearest(nil, o.component))
			continue
		}
		g.Outputs = append(g.Outputs, Output{o.name, c.Index})
	}
	if b.spec.outputs != nil {
		return
	}
	for _, c := range g.Components {
		if c.Leaf && c.Within < 0 {
			g.Outputs = append(g.Outputs, Output{c.Name, c.Index})
		}
	}
}

// sort orders the components topologically. It reports every component that is left over as part of, or behind, a cycle
// once, by the cycle.
func (b *builder) sort() bool {
	waiting := make([]int, len(b.graph.Components))
	behind := make([][]int, len(b.graph.Components))
	for i, c := range b.graph.Components {
		b.needs(c, func(parent int) {
			waiting[i]++
			behind[parent] = append(behind[parent], i)
		})
		if waiting[i] == 0 {
			b.order = append(b.order, i)
		}
	}
	for next := 0; next < len(b.order); next++ {
		for _, i := range behind[b.order[next]] {
			if waiting[i]--; waiting[i] == 0 {
				b.order = append(b.order, i)
			}
		}
	}
	if len(b.order) == len(b.graph.Components) {
		return true
	}
	b.cycles(waiting)
	return false
}

// cycles reports each cycle among the components that still wait, walking from each to its first waiting parent.
func (b *builder) cycles(waiting []int) {
	seen := make([]int, len(waiting)) // 0 = not yet, else the walk that saw it
	for start := range waiting {
		if waiting[start] == 0 || seen[start] != 0 {
			continue
		}
		at := start
		for seen[at] == 0 {
			seen[at] = start + 1
			at = b.waitingParent(at, waiting)
		}
		if seen[at] == start+1 {
			b.cycle(at, waiting)
		}
	}
}

func (b *builder) waitingParent(i int, waiting []int) int {
	found := -1
	b.needs(b.graph.Components[i], func(parent int) {
		if found < 0 && waiting[parent] > 0 {
			found = parent
		}
	})
	if found < 0 {
		panic("definition: a component waits for nothing")
	}
	return found
}

// cycle reports the cycle through component at, in the direction of the facts.
func (b *builder) cycle(at int, waiting []int) {
	names := []string{b.graph.Components[at].Name}
	for i := b.waitingParent(at, waiting); i != at; i = b.waitingParent(i, waiting) {
		names = append(names, b.graph.Components[i].Name)
	}
	names = append(names, names[0])
	slices.Reverse(names)
	p := b.spec.components[at]
	b.fail(p.path, "is part of a cycle: "+strings.Join(names, " → "), "remove one of these arms")
}

// ownRules refuses fields of a component's own policy that its kind cannot honour.
func (b *builder) ownRules() {
	for _, c := range b.graph.Components {
		for i := range c.Rules {
			if e, ok := c.Rules[i].CheckOwn(c.subject(nil)); !ok {
				b.errs = collect(b.errs, e)
			}
		}
	}
}

func joinNames(names []string) string { return strings.Join(names, ", ") }
