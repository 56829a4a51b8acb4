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
	reminders   map[string]*reminding // by component
	signals     []Deed                // those that components wait for
	sums        map[*Component]*tally // what accumulates, and who looks at it
	numbers     map[string]int        // of productions whose values depend on the order of what arrives
	work        time.Duration         // of all attempts that are meant, one after the other
}

// reminding is what a component that reminds of signals may have produced.
type reminding struct {
	may  map[string]int // by value: so often at most
	step bool
}

// Expected evaluates the graph topologically, input by input.
func (g *Graph) Expected(inputs []int64) Expectation {
	e := Expectation{
		Productions: map[string][]string{}, Outputs: map[string][]string{}, reminders: map[string]*reminding{},
		sums: map[*Component]*tally{}, numbers: map[string]int{},
	}
	for _, c := range g.Components {
		switch {
		case c.reminds():
			e.reminders[c.Name] = &reminding{map[string]int{}, c.kind == step}
		case c.kind != condition && c.kind != mapping:
			e.Productions[c.Name] = []string{}
		}
	}
	latest := map[string][]string{}
	for _, in := range inputs {
		p := &place{g: g, e: &e, opened: in, out: make([]yielded, len(g.Components))}
		p.run()
		for i, c := range g.Components {
			for _, v := range p.out[i].facts {
				if c.sums != nil || c.looks != nil {
					break
				}
				latest[c.Name] = append(latest[c.Name], text(v))
			}
		}
	}
	g.late(&e, latest)
	for _, list := range e.Productions {
		slices.Sort(list)
	}
	for name, component := range g.outs() {
		if e.numbers[component] > 0 && len(latest[component]) == 0 {
			continue
		}
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
			if c.reacts != nil {
				continue
			}
			delete(leaf, g.Components[a.parent].Name)
		}
		for _, i := range c.asks {
			delete(leaf, g.Components[i].Name)
		}
	}
	return leaf
}

// reminded allows for reminders of a signal that has begun to wait.
func (e *Expectation) reminded(r *reminder, value int64) {
	e.reminders[r.does.Name].may[text(value)] += r.most
}

// Compute is what a step or an expression makes of a weight.
func (c *Component) Compute(weight int64) int64 { return (weight*c.mul + c.add) % prime }
