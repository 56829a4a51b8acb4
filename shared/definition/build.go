package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/spelling"
)

// builder connects the parts of a spec to a graph.
type builder struct {
	spec  *spec
	graph *Graph
	errs  Errors
	order []int // components with parents before children; shorter than the components if there is a cycle

	catching bool // the expressions that are checked see an error
}

func (b *builder) fail(path, message, fix string) {
	b.errs = collect(b.errs, Error{Path: path, Message: message, Fix: fix})
}

func (b *builder) build() {
	g := b.graph
	g.Components = make([]*Component, len(b.spec.components))
	for i, p := range b.spec.components {
		p.Index = i
		g.Components[i] = &p.Component
	}
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
		if p.Join == Root && len(p.conditions) == 0 { // else they tell it when the input has come
			b.graph.Roots = append(b.graph.Roots, p.Index)
		} else if len(p.arms) == 0 && p.Join != Root { // refused already
			known = false
		}
		for _, arm := range p.arms {
			parent := b.graph.Lookup(arm.parent)
			if parent == nil {
				known = false
				b.fail(arm.path, fmt.Sprintf("unknown component %q", arm.parent), b.nearest(arm.parent))
				continue
			}
			if p.Join == Else && parent.Kind != 0 && !parent.Guarded() {
				b.fail(arm.path, fmt.Sprintf("%q has neither condition nor when, so it has no else", arm.parent), "give it a when")
			}
			parent.Children = append(parent.Children, Edge{p.Index, len(p.Arms), p.Join == Else, p.Join == Catch})
			p.Arms = append(p.Arms, Arm{parent.Index, arm.name, arm.optional})
		}
		known = b.connectConditions(p) && known
		b.counted(p)
	}
	for _, c := range b.graph.Components { // children come in order of (component, arm) because the parts did
		c.Leaf = !slices.ContainsFunc(c.Children, func(e Edge) bool { return !e.Else && !e.Catch })
	}
	return known
}

// nearest suggests the component that was probably meant.
func (b *builder) nearest(name string) string {
	if name == "input" {
		return "a component without after and in is fed by the input"
	}
	names := make([]string, len(b.graph.Components))
	for i, c := range b.graph.Components {
		names[i] = c.Name
	}
	if best := spelling.Nearest(name, names); best != "" {
		return "nearest: " + best
	}
	return ""
}

func (b *builder) outputs() {
	g := b.graph
	for _, o := range b.spec.outputs {
		c := g.Lookup(o.component)
		if c == nil {
			b.fail(o.path, fmt.Sprintf("unknown component %q", o.component), b.nearest(o.component))
			continue
		}
		g.Outputs = append(g.Outputs, Output{o.name, c.Index})
	}
	if b.spec.outputs != nil {
		return
	}
	for _, c := range g.Components {
		if c.Leaf {
			g.Outputs = append(g.Outputs, Output{c.Name, c.Index})
		}
	}
}

// sort orders the components topologically. It reports every component that is left over as part of, or behind, a cycle
// once, by the cycle.
func (b *builder) sort() bool {
	waiting := make([]int, len(b.graph.Components))
	for i, c := range b.graph.Components {
		if waiting[i] = len(c.Arms); waiting[i] == 0 {
			b.order = append(b.order, i)
		}
	}
	for next := 0; next < len(b.order); next++ {
		for _, e := range b.graph.Components[b.order[next]].Children {
			if waiting[e.Component]--; waiting[e.Component] == 0 {
				b.order = append(b.order, e.Component)
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
	for _, arm := range b.graph.Components[i].Arms {
		if waiting[arm.Component] > 0 {
			return arm.Component
		}
	}
	panic("definition: a component waits for nothing")
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
