package equivalence

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

// dice draws everything that a seed decides.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x68656464))} }

// between is uniform in lo…hi.
func (d dice) between(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

// one is true once in n times.
func (d dice) one(n int) bool { return d.IntN(n) == 0 }

func (d dice) millis(lo, hi int) time.Duration {
	return time.Duration(d.between(lo, hi)) * time.Millisecond
}

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

const maxComponents = 12

// graph draws a definition that registration accepts. halting: a step may halt
// the workflow.
func (d dice) graph(name string, halting bool) *graph {
	g := &graph{name: name}
	for range d.between(1, maxComponents) {
		g.components = append(g.components, nil)
		for tries := 0; ; tries++ {
			g.components[len(g.components)-1] = d.component(g, halting, tries)
			if _, err := definition.Parse([]byte(g.source())); err == nil {
				break
			} else if tries > 50 {
				panic(fmt.Sprintf("no component fits: %v\n%s", err, g.source()))
			}
		}
	}
	if d.one(3) {
		g.outputs = map[string]string{"first": g.components[0].name, "last": g.components[len(g.components)-1].name}
	}
	return g
}

// component draws the next one; late tries are simple ones.
func (d dice) component(g *graph, halting bool, tries int) *component {
	i := len(g.components) - 1
	c := &component{
		name: fmt.Sprintf("c%02d", i), kind: pick(d, step, step, step, step, pure, pure, condition, sleep),
		mul: int64(d.between(1, 9)), add: int64(d.between(0, 99)), rests: d.millis(0, 3000), shape: number,
	}
	d.wire(g, c, i, tries)
	if d.one(5) {
		c.when = &guard{int64(d.IntN(3)), int64(d.between(2, 4))}
	}
	c.guard = guard{int64(d.IntN(3)), int64(d.between(2, 4))}
	switch c.kind {
	case step:
		d.behave(c, halting)
	case pure:
		if d.one(6) {
			c.breaks = int64(d.between(2, 4))
			c.policy = map[string]any{"on_failure": "skip"}
		}
	case condition, sleep:
	}
	return c
}

func (d dice) wire(g *graph, c *component, i, tries int) {
	kinds := []join{single, single, list, named, anyOf, otherwise, root}
	switch {
	case i == 0 || tries > 20:
		return
	case tries > 10:
		kinds = []join{single}
	}
	c.join = pick(d, kinds...)
	n := 1
	switch c.join {
	case root:
		return
	case list, named, anyOf:
		n = min(i, d.between(1, 4))
	case single, otherwise:
	}
	for j, parent := range d.Perm(i)[:n] {
		optional := (c.join == list || c.join == named) && d.one(3)
		c.arms = append(c.arms, arm{parent, string(rune('a' + j)), optional})
	}
	c.shape = g.arriving(c)
}

// arriving is the shape of the value at a component.
func (g *graph) arriving(c *component) *shape {
	switch c.join {
	case otherwise:
		return g.components[c.arms[0].parent].shape
	case list, named:
		s := &shape{named: c.join == named}
		for _, a := range c.arms {
			s.parts = append(s.parts, part{a.name, a.optional, g.yields(a.parent)})
		}
		return s
	case anyOf:
		for _, a := range c.arms[1:] { // one shape for all: else numbers only
			if g.yields(a.parent) != g.yields(c.arms[0].parent) {
				c.join, c.arms = single, c.arms[:1]
				break
			}
		}
	}
	if c.join == root {
		return number
	}
	return g.yields(c.arms[0].parent)
}

func (g *graph) yields(i int) *shape {
	if c := g.components[i]; c.kind == condition || c.kind == sleep {
		return c.shape
	}
	return number
}

// behave draws what a step does and the policy that lets it end well.
func (d dice) behave(c *component, halting bool) {
	c.shaped = plain
	if d.one(4) {
		c.shaped = weighted
	} else if d.one(4) && c.shape == number {
		c.shaped = added
	}
	b := &c.acts
	b.takes = pick(d, 0, 0, d.millis(1, 150), d.millis(100, 600), d.millis(1000, 7000))
	b.queue = pick(d, "", "", "orders")
	c.policy = map[string]any{"execution_mode": pick(d, "durable", "durable", "async")}
	switch {
	case d.one(3):
		d.flaky(c)
	case d.one(8):
		d.hanging(c)
	case d.one(10):
		b.hopeless = true
		c.policy["max_retries"], c.policy["on_failure"] = d.IntN(3), "skip"
	case d.one(10):
		b.external, c.shaped = true, plain
		c.policy["execution_mode"], c.policy["max_retries"] = "external", 1
	case halting && d.one(3):
		b.halts, b.fails = true, d.between(1, 4)
		c.policy["max_retries"] = d.IntN(b.fails)
	case b.takes >= time.Second: // in time, but for killed takers
		c.policy["timeout_ms"] = int(b.takes.Milliseconds()) + d.between(50, 1000)
		c.policy["max_retries"] = maxKills + 2
	}
}

func (d dice) flaky(c *component) {
	c.acts.fails, c.acts.panics = d.between(1, 3), d.one(4)
	c.policy["max_retries"] = c.acts.fails + d.IntN(3)
	c.policy["backoff"] = pick(d, "none", "linear", "exponential", "jitter")
	c.policy["base_delay_ms"] = d.between(10, 900)
}

// hanging leaves room for timeouts that a killed taker causes.
func (d dice) hanging(c *component) {
	c.acts.hangs, c.acts.takes = d.between(1, 2), d.millis(0, 100)
	c.policy["timeout_ms"] = d.between(500, 3000)
	c.policy["max_retries"] = c.acts.hangs + maxKills + 2
}
