package workload

import (
	"fmt"
	"slices"
	"strings"
)

// reduce evaluates a reduce, and the map that it has the arms of.
func (p *place) reduce(i int, c *Component) {
	m := p.g.index(c.over)
	if c.feeds {
		p.through(c, m)
	}
	if p.out[m].facts == nil {
		p.out[i].suppressed = p.out[m].suppressed
		return
	}
	p.fold(c, m, &p.out[i])
}

// through evaluates the body of a map for each of its elements.
func (p *place) through(c *Component, m int) {
	all, outside := p.arriving(c), p.g.captured(c.over)
	if len(all) == 0 || slices.ContainsFunc(outside, func(a arm) bool { return !a.optional && len(p.out[a.parent].facts) == 0 }) {
		p.out[m].suppressed = p.missed(c.arms) || p.missed(outside)
		return
	}
	list, failed := elements(weigh(all[0])), int64(0)
	var done [][]yielded
	for _, element := range list {
		in := &place{g: p.g, e: p.e, of: c.over, outer: p, count: len(list), opened: element, out: slices.Clone(p.out)}
		in.out[m] = yielded{facts: []any{element}}
		if in.run(); in.failed {
			failed++
		}
		done = append(done, in.out)
	}
	p.e.completed++
	p.out[m] = yielded{elements: done, facts: []any{object{{"elements", int64(len(list))}, {"failed", failed}}}}
}

// captured are the arms of components within a map whose values come from around it.
func (g *Graph) captured(over *Component) (all []arm) {
	for _, c := range g.Components {
		for _, a := range c.arms {
			if from := g.Components[a.parent]; c.within(over) && from != over && !from.within(over) {
				all = append(all, a)
			}
		}
	}
	return all
}

// within reports whether a component is in the body of a map, or deeper.
func (c *Component) within(over *Component) bool {
	for h := c.home; h != nil; h = h.home {
		if h == over {
			return true
		}
	}
	return false
}

// fold folds what has come of the elements of a map, in their order.
func (p *place) fold(c *Component, m int, y *yielded) {
	of, acc, failed := p.g.index(c.of), c.add, []string{}
	elements := p.out[m].elements
	for n, element := range elements {
		switch from := element[of]; {
		case len(from.facts) > 0:
			if c.byTask && !p.folds(c) {
				y.suppressed = true
				return
			}
			acc = c.folds(acc, weigh(from.facts[0]), int64(n))
			if c.until != nil && !c.until.holds(acc) {
				y.facts = []any{c.value(acc, failed)}
				return
			}
		case from.suppressed:
			if !c.partial && len(failed) >= c.over.tolerate.of(len(elements)) {
				p.failed, y.suppressed = true, true
				return
			}
			failed = append(failed, fmt.Sprint(n))
		}
	}
	y.facts = []any{c.value(acc, failed)}
}

// folds reports whether the task of a reduce succeeds.
func (p *place) folds(c *Component) bool {
	p.e.work += c.work()
	if c.Acts.Hopeless {
		p.e.skipped++
		p.failed = true
		return false
	}
	p.e.completed++
	return true
}

// value is what a reduce yields.
func (c *Component) value(acc int64, failed []string) any {
	if c.errors {
		return verbatim(fmt.Sprintf(`{"errors":[%s],"value":%d}`, strings.Join(failed, ","), acc))
	}
	return acc
}
