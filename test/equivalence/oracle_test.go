package equivalence

import (
	"slices"
)

// expectation is what a workflow must come to, whatever happens on the way.
type expectation struct {
	productions map[string][]string // by component, sorted JSON
	outputs     map[string][]string // possible latest values of each output; null if there is none
	completed   uint64
	skipped     uint64
}

// yielded is what a component does in one scope.
type yielded struct {
	facts  []any
	passed []any // what arrived where the guard did not hold: for its else
}

// expected evaluates the graph topologically, input by input.
func (g *graph) expected(inputs []int64) expectation {
	e := expectation{productions: map[string][]string{}, outputs: map[string][]string{}}
	for _, c := range g.components {
		if c.kind != condition {
			e.productions[c.name] = []string{}
		}
	}
	latest := map[string][]string{}
	for _, in := range inputs {
		for i, y := range g.scope(in, &e) {
			c := g.components[i]
			for _, v := range y.facts {
				latest[c.name] = append(latest[c.name], text(v))
				if c.kind != condition {
					e.productions[c.name] = append(e.productions[c.name], text(v))
				}
			}
		}
	}
	for _, list := range e.productions {
		slices.Sort(list)
	}
	for name, component := range g.outs() {
		e.outputs[name] = latest[component]
		if len(latest[component]) == 0 {
			e.outputs[name] = []string{"null"}
		}
	}
	return e
}

// outs are the outputs: those declared, else the leaves.
func (g *graph) outs() map[string]string {
	if len(g.outputs) > 0 {
		return g.outputs
	}
	leaf := map[string]string{}
	for _, c := range g.components {
		leaf[c.name] = c.name
	}
	for _, c := range g.components {
		for _, a := range c.arms {
			delete(leaf, g.components[a.parent].name)
		}
	}
	return leaf
}

func (g *graph) scope(in int64, e *expectation) []yielded {
	out := make([]yielded, len(g.components))
	for i, c := range g.components {
		for _, v := range c.arriving(in, out) {
			c.activate(v, &out[i], e)
		}
	}
	return out
}

// arriving are the values that a component is activated with.
func (c *component) arriving(in int64, before []yielded) []any {
	switch c.join {
	case root:
		return []any{in}
	case single:
		return before[c.arms[0].parent].facts
	case otherwise:
		return before[c.arms[0].parent].passed
	case anyOf:
		var all []any
		for _, a := range c.arms {
			all = append(all, before[a.parent].facts...)
		}
		return all
	}
	return c.joined(before)
}

func (c *component) joined(before []yielded) []any {
	items := make([]any, len(c.arms))
	fields := make(object, len(c.arms))
	for i, a := range c.arms {
		facts := before[a.parent].facts
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

func (c *component) activate(v any, y *yielded, e *expectation) {
	if c.when != nil && !c.when.holds(v) {
		y.passed = append(y.passed, v)
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
		e.completed++
		y.facts = append(y.facts, v)
	case pure:
		if c.breaks > 0 && weigh(v)%c.breaks == 0 {
			e.skipped++
			return
		}
		y.facts = append(y.facts, c.compute(weigh(v)))
	case step:
		if c.acts.hopeless {
			e.skipped++
			return
		}
		e.completed++
		y.facts = append(y.facts, c.compute(weigh(v)))
	}
}

func (c *component) compute(weight int64) int64 { return (weight*c.mul + c.add) % prime }
