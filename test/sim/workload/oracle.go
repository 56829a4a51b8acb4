package workload

import (
	"slices"
	"time"
)

// Expectation is what a workflow must come to, whatever happens on the way.
type Expectation struct {
	Productions map[string][]string // by component, sorted JSON
	Outputs     map[string][]string // possible latest values of each output; null if there is none
	completed   uint64
	skipped     uint64
	cancelled   uint64
	work        time.Duration // of all attempts that are meant, one after the other
}

// yielded is what a component does in one scope.
type yielded struct {
	facts  []any
	passed []any // what arrived where the guard did not hold: for its else
	failed []any // what arrived where it failed for good: for what catches that
}

// Expected evaluates the graph topologically, input by input.
func (g *Graph) Expected(inputs []int64) Expectation {
	e := Expectation{Productions: map[string][]string{}, Outputs: map[string][]string{}}
	for _, c := range g.Components {
		if c.kind != condition && c.kind != mapping {
			e.Productions[c.Name] = []string{}
		}
	}
	latest := map[string][]string{}
	for _, in := range inputs {
		for i, y := range g.scope(in, &e) {
			c := g.Components[i]
			for _, v := range y.facts {
				latest[c.Name] = append(latest[c.Name], text(v))
				if c.kind != condition {
					e.Productions[c.Name] = append(e.Productions[c.Name], text(v))
				}
			}
		}
	}
	for _, list := range e.Productions {
		slices.Sort(list)
	}
	for name, component := range g.outs() {
		e.Outputs[name] = latest[component]
		if len(latest[component]) == 0 {
			e.Outputs[name] = []string{"null"}
		}
	}
	return e
}

// outs are the outputs: those declared, else the leaves.
func (g *Graph) outs() map[string]string {
	if len(g.Outputs) > 0 {
		return g.Outputs
	}
	leaf := map[string]string{}
	for _, c := range g.Components {
		if !c.inner {
			leaf[c.Name] = c.Name
		}
	}
	for _, c := range g.Components {
		for _, a := range c.arms {
			delete(leaf, g.Components[a.parent].Name)
		}
		for _, i := range c.asks {
			delete(leaf, g.Components[i].Name)
		}
	}
	return leaf
}

func (g *Graph) scope(in int64, e *Expectation) []yielded {
	out := make([]yielded, len(g.Components))
	for i, c := range g.Components {
		if c.inner {
			continue
		}
		for _, v := range c.arriving(in, out) {
			if c.told(out) {
				c.activate(v, &out[i], e)
			} else {
				out[i].passed = append(out[i].passed, v)
			}
		}
	}
	return out
}

// arriving are the values that a component is activated with.
func (c *Component) arriving(in int64, before []yielded) []any {
	switch c.join {
	case root:
		return []any{in}
	case single:
		return before[c.arms[0].parent].facts
	case otherwise:
		return before[c.arms[0].parent].passed
	case caught:
		return before[c.arms[0].parent].failed
	case race: // the limit is far away
		return before[c.arms[0].parent].facts
	case anyOf:
		var all []any
		for _, a := range c.arms {
			all = append(all, before[a.parent].facts...)
		}
		return all
	case list, named:
	}
	return c.joined(before)
}

// told reports whether the conditions that a rule asks hold.
func (c *Component) told(before []yielded) bool {
	holds := 0
	for _, i := range c.asks {
		if len(before[i].facts) > 0 {
			holds++
		}
	}
	return holds == len(c.asks) || c.any && holds > 0
}

func (c *Component) joined(before []yielded) []any {
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

func (c *Component) activate(v any, y *yielded, e *Expectation) {
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
		if c.limit {
			e.cancelled++
			return
		}
		e.work += c.rests
		e.completed++
		y.facts = append(y.facts, v)
	case folded:
		y.facts = append(y.facts, c.foldOver(weigh(v), e))
	case mapping: // its reduce says what comes of it
	case pure:
		if c.breaks > 0 && weigh(v)%c.breaks == 0 {
			e.skipped++
			y.failed = append(y.failed, v)
			return
		}
		y.facts = append(y.facts, c.Compute(weigh(v)))
	case step:
		e.work += c.work()
		if c.Acts.Hopeless {
			e.skipped++
			y.failed = append(y.failed, v)
			return
		}
		e.completed++
		y.facts = append(y.facts, c.Compute(weigh(v)))
	}
}

// Compute is what a step or an expression makes of a weight.
func (c *Component) Compute(weight int64) int64 { return (weight*c.mul + c.add) % prime }
