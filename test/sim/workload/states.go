package workload

import (
	"encoding/json"
	"fmt"
)

// What a component accumulates is the sum of what it makes of all that arrives, so the final
// state is the same in any order. The states on the way are known where each adds the same.

// summing is what a step or an expression accumulates instead of giving what it makes.
type summing struct {
	init    int64
	machine bool
	parts   []*Component // the reactors of a state machine
}

// reaction is when a reactor runs.
type reaction struct {
	guard *guard // nil: above
	above int64
	level bool
}

func (r *reaction) holds(state int64) bool {
	if r.guard != nil {
		return r.guard.holds(state)
	}
	return state > r.above
}

// fires reports whether a reactor runs for a state that follows another.
func (r *reaction) fires(before, state int64) bool {
	return r.holds(state) && (r.level || !r.holds(before))
}

func (r *reaction) spec(then map[string]any) map[string]any {
	out := map[string]any{"when": fmt.Sprintf("state > %d", r.above), "then": then}
	if r.guard != nil {
		out["when"] = r.guard.expr("state")
	}
	if r.level {
		out["edge"] = "level"
	}
	return out
}

// counts reports whether a component that accumulates adds the same each time.
func (c *Component) counts() bool { return c.sums != nil && c.mul == 0 }

// accumulate adds components that accumulate, what reacts to their states and what looks at
// them, and some inputs more. Its dice are of its own.
func (d Dice) accumulate(w *Workflow) {
	g, before := w.Graph, len(w.Graph.Components)
	for range d.Between(1, 2) {
		d.summing(g)
	}
	if len(g.Components) == before {
		return
	}
	if len(g.Outputs) > 0 {
		g.Outputs["state"] = g.Components[before].Name
	}
	if d.One(2) {
		g.options["keep"] = map[string]any{"facts": Pick(d, 1, 5, 20)}
	}
	if g.options["close"] == nil {
		for range d.IntN(4) {
			w.More = append(w.More, Deed{After: d.Millis(0, 300), What: Feed, Input: int64(d.IntN(1000)), Again: d.Again()})
		}
	}
}

// summing adds a component that accumulates, with what follows from its states.
func (d Dice) summing(g *Graph) {
	before := g.Components
	c := &Component{
		Name: g.next(), kind: Pick(d, step, pure, pure), mul: int64(d.IntN(2) * d.Between(1, 9)), add: int64(d.Between(1, 99)),
		shape: number, sums: &summing{init: int64(d.IntN(20))},
	}
	d.feed(g, c)
	if d.One(4) {
		c.when = &guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	}
	if c.kind == step {
		d.briefly(c)
		c.shaped = Pick(d, plain, plain, added)
	} else {
		c.sums.machine = d.One(2)
		if d.One(4) {
			c.breaks, c.needs = int64(d.Between(2, 4)), fields{"on_failure": "skip"}
		}
	}
	c.own = own(false, c.needs)
	i := len(before)
	g.Components = append(g.Components, c)
	if c.sums.machine {
		d.reactors(g, c, i)
	}
	if !g.fits() { // what feeds it may come more than once
		g.Components = before
		return
	}
	if (c.Acts.Hopeless || c.breaks > 0) && d.One(2) {
		d.catch(g, i)
	}
	if c.when != nil && d.One(2) {
		g.Components = append(g.Components, &Component{
			Name: g.next(), kind: pure, join: otherwise, arms: []arm{{parent: i, name: "a"}}, mul: 1, add: int64(d.Between(0, 99)), shape: c.shape,
		})
	}
	for range d.IntN(3) {
		d.behind(g, i, c.counts())
	}
	for range d.IntN(3) {
		d.looking(g, c, i)
	}
}

// feed lets the input, or one or two components, feed one that accumulates.
func (d Dice) feed(g *Graph, c *Component) {
	feeds := func(i int) bool {
		of := g.Components[i]
		return (of.kind == step || of.kind == pure || of.kind == folded && !of.errors) && !of.inner && !of.late && of.sums == nil && of.looks == nil
	}
	a, b := d.IntN(len(g.Components)+1), d.IntN(len(g.Components))
	if a == len(g.Components) || !feeds(a) {
		return
	}
	c.join, c.arms = single, []arm{{parent: a, name: "a"}}
	if b != a && feeds(b) {
		c.join, c.arms = anyOf, append(c.arms, arm{parent: b, name: "b"})
	}
}

// briefly draws what a step does that others wait for. Nobody completes it by its token: who
// does is shown what arrived, and no state.
func (d Dice) briefly(c *Component) {
	c.Acts.Takes = Pick(d, 0, d.Millis(1, 150), d.Millis(100, 400))
	c.Acts.Queue = Pick(d, "", "orders")
	c.needs = fields{"execution_mode": Pick(d, "durable", "durable", "async")}
	switch {
	case d.One(3):
		d.flaky(c)
	case d.One(8):
		d.hanging(c)
	case c.reacts == nil && d.One(12):
		d.hopeless(c)
	}
}

// reactors adds those of a state machine. Where its states are not known, how often they run is.
func (d Dice) reactors(g *Graph, c *Component, i int) {
	for n := range d.Between(1, 2) {
		r := &Component{
			Name: fmt.Sprintf("%s/reactor/%d", c.Name, n), kind: Pick(d, step, pure), join: single, arms: []arm{{parent: i, name: "a"}},
			mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: number, late: true,
		}
		r.reacts = &reaction{above: int64(d.IntN(300)), level: d.One(2)}
		switch {
		case c.counts() && d.One(2):
			r.reacts.guard = &guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
		case !c.counts() && r.reacts.level:
			r.reacts.above = -1
		}
		if r.kind == step {
			d.briefly(r)
			r.shaped = Pick(d, plain, weighted, added)
			g.rules = append(g.rules, d.rule(r, false, r.needs)) // it can have none of its own
		}
		c.sums.parts = append(c.sums.parts, r)
		g.Components = append(g.Components, r)
	}
}

// behind adds a component behind one that accumulates: it gets the states.
func (d Dice) behind(g *Graph, i int, known bool) {
	c := &Component{
		Name: g.next(), kind: Pick(d, step, pure), join: single, arms: []arm{{parent: i, name: "a"}},
		mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: number, late: true,
	}
	if known && d.One(2) {
		c.when = &guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	}
	if c.kind == step {
		c.Acts.Takes, c.needs = d.Millis(0, 200), fields{"execution_mode": Pick(d, "durable", "async")}
		c.own = own(false, c.needs)
	}
	g.Components = append(g.Components, c)
}

// looking adds a component that gives the state of another as it sees it: at once, behind
// something, or when that has been folded.
func (d Dice) looking(g *Graph, of *Component, i int) {
	before := g.Components
	c := &Component{Name: g.next(), kind: Pick(d, step, pure), shape: number, looks: of}
	at := d.IntN(len(before))
	switch after := before[at]; {
	case d.One(3), after.inner, after.late, after.limit, after.errors:
	case at != i && d.One(2):
		c.join, c.arms = list, []arm{{parent: i, name: "a"}, {parent: at, name: "b"}}
	default:
		c.join, c.arms = single, []arm{{parent: at, name: "a"}}
	}
	c.shape = g.arriving(c)
	if c.kind == step {
		d.briefly(c)
		c.own = own(false, c.needs)
	}
	g.Components = append(g.Components, c)
	if !g.fits() { // what feeds it may come more than once
		g.Components = before
	}
}

// stateSpec moves what a component makes to what it accumulates.
func (g *Graph) stateSpec(c *Component, out map[string]any) {
	out["init"] = c.sums.init
	by := map[string]any{}
	for _, field := range []string{"step", "params"} {
		if v, ok := out[field]; ok {
			by[field] = v
			delete(out, field)
		}
	}
	value := any(by)
	if c.kind == pure {
		value = fmt.Sprintf("state + %s", out["expr"])
		delete(out, "expr")
	}
	if !c.sums.machine {
		out["accumulate"] = value
		return
	}
	out["state_machine"] = value
	var parts []any
	for _, r := range c.sums.parts {
		then := map[string]any{}
		for name, v := range g.spec(r) {
			if name == "step" || name == "expr" || name == "input" || name == "params" {
				then[name] = v
			}
		}
		parts = append(parts, r.reacts.spec(then))
	}
	out["reactors"] = parts
}

// lookSpec lets a component give a state.
func (c *Component) lookSpec(out map[string]any) {
	what := "states." + c.looks.Name
	if c.kind == pure {
		out["expr"] = what
		return
	}
	out["input"] = what
	delete(out, "params")
}

// summed is what the task of a component that accumulates makes of its input.
func (c *Component) summed(input json.RawMessage) (json.RawMessage, error) {
	var of struct {
		State *int64
		Input json.RawMessage
		Add   int64
	}
	if err := json.Unmarshal(input, &of); err != nil || of.State == nil || c.shaped == added && of.Add != c.add {
		return nil, fmt.Errorf("input %s: want a state, an input and, perhaps, the parameter add: %d", input, c.add)
	}
	v, err := parse(of.Input, c.shape)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", input, err)
	}
	return json.RawMessage(fmt.Sprint(*of.State + c.Compute(weigh(v)))), nil
}

// keep is how many facts are kept; false: all are.
func (g *Graph) keep() (facts int, some bool) {
	keep, some := g.options["keep"].(map[string]any)
	if some {
		facts = keep["facts"].(int)
	}
	return facts, some
}
