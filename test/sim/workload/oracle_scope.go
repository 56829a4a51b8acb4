package workload

import (
	"slices"
)

// yielded is what a component does in one scope.
type yielded struct {
	facts      []any
	passed     []any       // what arrived where the guard did not hold: for its else
	failed     []any       // what arrived where it failed for good: for what catches that
	suppressed bool        // nothing comes of it, as something has failed
	elements   [][]yielded // map: what all components do, by element
}

// place is a scope: that of an input, or of an element.
type place struct {
	g      *Graph
	e      *Expectation
	of     *Component // the map whose element it is; nil: an input's
	outer  *place     // the scope of the map
	count  int        // elements of the list
	opened any        // the input, or the element
	out    []yielded
	failed bool // something in it has failed
}

// run evaluates what is in the scope, one component after the other.
func (p *place) run() {
	for i, c := range p.g.Components {
		if c.home != p.of || c.kind == mapping || c.reminds() || c.late {
			continue
		}
		if c.kind == folded {
			p.reduce(i, c)
		} else {
			p.component(i, c)
		}
		if c.sums != nil || c.looks != nil {
			p.e.count(c, &p.out[i])
			continue
		}
		for _, v := range p.out[i].facts {
			if c.kind != condition {
				p.e.Productions[c.Name] = append(p.e.Productions[c.Name], text(v))
			}
		}
	}
}

func (p *place) component(i int, c *Component) {
	all := p.arriving(c)
	for _, v := range all {
		if p.told(c) {
			p.activate(c, v, &p.out[i])
		} else {
			p.out[i].passed = append(p.out[i].passed, v)
		}
	}
	p.out[i].suppressed = len(p.out[i].failed) > 0 || len(all) == 0 && p.missed(c.arms)
}

// missed reports whether something that has failed keeps a component from running.
func (p *place) missed(arms []arm) bool {
	return slices.ContainsFunc(arms, func(a arm) bool { return !a.optional && p.out[a.parent].suppressed })
}

// arriving are the values that a component is activated with.
func (p *place) arriving(c *Component) []any {
	switch c.join {
	case root:
		return []any{p.opened}
	case single:
		return p.out[c.arms[0].parent].facts
	case otherwise:
		return p.out[c.arms[0].parent].passed
	case caught:
		return p.out[c.arms[0].parent].failed
	case race: // the limit is far away
		return p.out[c.arms[0].parent].facts
	case anyOf:
		var all []any
		for _, a := range c.arms {
			all = append(all, p.out[a.parent].facts...)
		}
		return all
	case list, named:
	}
	return p.joined(c)
}

// told reports whether the conditions that a rule asks hold.
func (p *place) told(c *Component) bool {
	holds := 0
	for _, i := range c.asks {
		if len(p.out[i].facts) > 0 {
			holds++
		}
	}
	return holds == len(c.asks) || c.any && holds > 0
}

func (p *place) joined(c *Component) []any {
	items := make([]any, len(c.arms))
	fields := make(object, len(c.arms))
	for i, a := range c.arms {
		facts := p.out[a.parent].facts
		if len(facts) == 0 && !a.optional {
			return nil
		}
		if len(facts) > 0 {
			items[i] = facts[0]
		}
		fields[i] = field{a.name, items[i]}
	}
	if c.join == named {
		return []any{fields}
	}
	return []any{items}
}

func (p *place) activate(c *Component, v any, y *yielded) {
	if c.when != nil && !c.when.holds(v) {
		if c.join != caught { // nobody gets what is not caught
			y.passed = append(y.passed, v)
		}
		return
	}
	switch c.kind {
	case condition:
		if c.guard.holds(v) {
			y.facts = append(y.facts, v)
		} else {
			y.passed = append(y.passed, v)
		}
	case sleep:
		p.wait(c, v, y)
	case folded, mapping: // they have ways of their own
	case pure:
		if c.breaks > 0 && weigh(v)%c.breaks == 0 {
			p.fail(c, v, y)
			return
		}
		y.facts = append(y.facts, c.Compute(weigh(v)))
	case step:
		p.e.work += c.work()
		if c.Acts.Hopeless || c.breaks > 0 && weigh(v)%c.breaks == 0 {
			p.fail(c, v, y)
			return
		}
		p.e.completed++
		y.facts = append(y.facts, c.Compute(weigh(v)))
	}
}

func (p *place) wait(c *Component, v any, y *yielded) {
	switch {
	case c.limit:
		p.e.cancelled++
		return
	case c.remind != nil:
		p.e.reminded(c.remind, c.remind.does.Compute(weigh(v)))
	}
	if c.deaf {
		p.e.work += c.patience
		p.fail(c, v, y)
		return
	}
	if c.waits == forSignal {
		p.e.signals = append(p.e.signals, Deed{What: Signal, Signal: c.signal(), Input: weigh(v)})
	}
	p.e.work += c.rests
	p.e.completed++
	y.facts = append(y.facts, v)
}

// fail lets a component fail for good, by its policy or because a map tolerates that.
func (p *place) fail(c *Component, v any, y *yielded) {
	p.e.skipped++
	y.failed = append(y.failed, v)
	p.failed = true
	for s := p; c.halts && s.of != nil; s = s.outer {
		s.failed = true
		if s.of.tolerate.of(s.count) > 0 {
			return
		}
	}
}
