package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

// Dice draws everything that a seed decides.
type Dice struct{ *rand.Rand }

// NewDice are the dice of a seed.
func NewDice(seed uint64) Dice { return Dice{rand.New(rand.NewPCG(seed, 0x68656464))} }

// Between is uniform in lo…hi.
func (d Dice) Between(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

// One is true once in n times.
func (d Dice) One(n int) bool { return d.IntN(n) == 0 }

// Millis is uniform in lo…hi milliseconds.
func (d Dice) Millis(lo, hi int) time.Duration {
	return time.Duration(d.Between(lo, hi)) * time.Millisecond
}

// Pick is one of those given, each as likely.
func Pick[T any](d Dice, from ...T) T { return from[d.IntN(len(from))] }

const maxComponents = 12

// Graph draws a definition that registration accepts. halting: a step may halt
// the workflow.
func (d Dice) Graph(name string, halting bool) *Graph {
	g := &Graph{Name: name}
	for range d.Between(1, maxComponents) {
		g.Components = append(g.Components, nil)
		for tries := 0; ; tries++ {
			g.Components[len(g.Components)-1] = d.Component(g, halting, tries)
			if _, err := definition.Parse([]byte(g.Source())); err == nil {
				break
			} else if tries > 50 {
				panic(fmt.Sprintf("no component fits: %v\n%s", err, g.Source()))
			}
		}
	}
	g.forms()
	if d.One(3) {
		g.Outputs = map[string]string{"first": g.Components[0].Name, "last": g.last()}
	}
	return g
}

// last is the last component that is in no body.
func (g *Graph) last() string {
	for i := len(g.Components) - 1; ; i-- {
		if c := g.Components[i]; !c.inner {
			return c.Name
		}
	}
}

// Component draws the next one; late tries are simple ones.
func (d Dice) Component(g *Graph, halting bool, tries int) *Component {
	i := len(g.Components) - 1
	c := &Component{
		Name: fmt.Sprintf("c%02d", i), kind: Pick(d, step, step, step, step, pure, pure, condition, sleep),
		mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), rests: d.Millis(0, 3000), shape: number,
	}
	d.wire(g, c, i, tries)
	if d.One(5) {
		c.when = &guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	}
	c.guard = guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	switch c.kind {
	case step:
		d.behave(c, halting)
	case pure:
		if d.One(6) {
			c.breaks = int64(d.Between(2, 4))
			c.needs = fields{"on_failure": "skip"}
		}
	case condition, sleep, folded, mapping:
	}
	c.own = own(false, c.needs)
	return c
}

func (d Dice) wire(g *Graph, c *Component, i, tries int) {
	kinds := []join{single, single, list, named, anyOf, otherwise, root}
	switch {
	case i == 0 || tries > 20:
		return
	case tries > 10:
		kinds = []join{single}
	}
	c.join = Pick(d, kinds...)
	n := 1
	switch c.join {
	case root:
		return
	case list, named, anyOf:
		n = min(i, d.Between(1, 4))
	default: // one
	}
	for j, parent := range d.Perm(i)[:n] {
		optional := (c.join == list || c.join == named) && d.One(3)
		c.arms = append(c.arms, arm{parent, string(rune('a' + j)), optional})
	}
	c.shape = g.arriving(c)
}

// arriving is the shape of the value at a component.
func (g *Graph) arriving(c *Component) *shape {
	switch c.join {
	case otherwise:
		return g.Components[c.arms[0].parent].shape
	case list, named:
		s := &shape{Named: c.join == named}
		for _, a := range c.arms {
			s.parts = append(s.parts, part{a.name, a.optional, g.yields(a.parent)})
		}
		return s
	case root, single, caught, race:
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

func (g *Graph) yields(i int) *shape {
	switch c := g.Components[i]; c.kind {
	case condition, sleep:
		return c.shape
	case mapping:
		return ended
	case step, pure, folded:
	}
	return number
}

// behave draws what a step does and the policy that lets it end well.
func (d Dice) behave(c *Component, halting bool) {
	c.shaped = plain
	if d.One(4) {
		c.shaped = weighted
	} else if d.One(4) && c.shape == number {
		c.shaped = added
	}
	b := &c.Acts
	b.Takes = Pick(d, 0, 0, d.Millis(1, 150), d.Millis(100, 600), d.Millis(1000, 7000))
	b.Queue = Pick(d, "", "", "orders")
	c.needs = fields{"execution_mode": Pick(d, "durable", "durable", "async")}
	c.keyed()
	switch {
	case d.One(3):
		d.flaky(c)
	case d.One(8):
		d.hanging(c)
	case d.One(10):
		d.hopeless(c)
	case d.One(10):
		b.External, c.shaped = true, plain
		c.needs["execution_mode"], c.needs["max_retries"] = "external", 1
	case halting && d.One(3):
		b.Halts, b.Fails = true, d.Between(1, 4)
		c.needs["max_retries"] = d.IntN(b.Fails)
		c.needs["on_lost"], c.needs["start_timeout_ms"] = "fail", 5000 // these halt too
		c.needs["deadline_ms"] = 15000
	case b.Takes >= time.Second: // in time, but for killed workers
		c.needs["timeout_ms"] = int(b.Takes.Milliseconds()) + d.Between(50, 1000)
		c.needs["max_retries"] = MaxKills + 2
		c.beats()
	}
}

func (d Dice) flaky(c *Component) {
	c.Acts.Fails, c.Acts.Panics = d.Between(1, 3), d.One(4)
	c.needs["max_retries"] = c.Acts.Fails + d.IntN(3)
	c.needs["backoff"] = Pick(d, "none", "linear", "exponential", "jitter")
	c.needs["base_delay_ms"] = d.Between(10, 900)
	if d.One(4) {
		c.needs["retry_if"], c.needs["non_retryable"] = "error.type != 'nothing' and attempt < 100", []any{"nothing"}
	}
}

// hanging leaves room for timeouts that a killed worker causes.
func (d Dice) hanging(c *Component) {
	c.Acts.Hangs, c.Acts.Takes = d.Between(1, 2), d.Millis(0, 100)
	c.needs["timeout_ms"] = d.Between(500, 3000)
	c.needs["max_retries"] = c.Acts.Hangs + MaxKills + 2
	c.silent()
}

// hopeless is a step that fails each time, and is skipped.
func (d Dice) hopeless(c *Component) {
	c.Acts.Hopeless = true
	c.needs["max_retries"], c.needs["on_failure"] = d.IntN(3), "skip"
	switch d.IntN(4) {
	case 0:
		c.needs["non_retryable"] = Pick(d, []any{"temporary"}, []any{"other", "panic"})
	case 1:
		c.needs["retry_if"] = fmt.Sprintf("error.retryable && attempt < %d", d.Between(1, 3))
	}
}
