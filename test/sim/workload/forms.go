package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

// forms adds rules, catches, races and maps to a graph, by dice of their own: what else a seed
// draws stays as it is.
func (g *Graph) forms() {
	seed := uint64(len(g.Components))
	for _, c := range g.Components {
		seed = seed*prime + uint64(c.mul*100+c.add)
	}
	d := NewDice(seed)
	for i, c := range g.Components {
		d.ruled(g, c, i)
	}
	for i, c := range slices.Clone(g.Components) {
		if (c.Acts.Hopeless || c.breaks > 0) && d.One(2) {
			d.catch(g, i)
		}
	}
	if d.One(3) {
		d.race(g)
	}
	for range d.IntN(3) {
		d.each(g)
	}
	NewDice(seed ^ 0x626f6479).bodies(g) // of their own: what else is drawn stays as it is
}

func (g *Graph) fits() bool {
	_, err := definition.Parse([]byte(g.Source()))
	return err == nil
}

// ruled makes a rule of a component, perhaps with conditions that are fed as it is.
func (d Dice) ruled(g *Graph, c *Component, i int) {
	if c.kind != step && c.kind != pure || c.join == otherwise || c.join == anyOf || !d.One(2) {
		return
	}
	for n, other := range g.Components[:i] {
		if other.kind == condition && sameFeed(c, other) {
			c.asks = append(c.asks, n)
		}
	}
	c.any = d.One(2)
	c.ruled = c.when != nil || len(c.asks) > 0
	if !g.fits() { // what feeds it may come more than once
		c.asks, c.ruled = nil, c.when != nil
	}
}

func sameFeed(a, b *Component) bool { return a.join == b.join && slices.Equal(a.arms, b.arms) }

// catch adds a component that catches the failures of component i, or those of some values.
func (d Dice) catch(g *Graph, i int) {
	of := g.Components[i]
	c := &Component{
		Name: g.next(), kind: Pick(d, step, pure), join: caught, arms: []arm{{parent: i, name: "a"}},
		mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: of.shape,
	}
	if c.kind == step {
		c.Acts.Takes, c.shaped = d.Millis(0, 200), Pick(d, plain, weighted)
		c.needs = fields{"execution_mode": Pick(d, "durable", "async")}
		c.own = own(false, c.needs)
	}
	if d.One(3) {
		c.when = &guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	} else {
		of.needs["on_failure"] = "halt" // it would, were it not caught
		of.own = own(false, of.needs)
	}
	g.Components = append(g.Components, c)
}

// race lets a component that always yields race with a sleep that is long enough.
func (d Dice) race(g *Graph) {
	for i, c := range g.Components {
		if !g.sure(c) || !d.One(3) {
			continue
		}
		limit := &Component{Name: g.next(), kind: sleep, rests: 24 * time.Hour, limit: true, shape: number}
		g.Components = append(g.Components, limit)
		g.Components = append(g.Components, &Component{
			Name: g.next(), kind: pure, join: race, mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: g.yields(i),
			arms: []arm{{parent: i, name: "a"}, {parent: len(g.Components) - 1, name: "b"}},
		})
		return
	}
}

// sure reports whether a component yields once for each input.
func (g *Graph) sure(c *Component) bool {
	fed := c.join == root || c.join == single && g.sure(g.Components[c.arms[0].parent])
	return fed && (c.kind == step || c.kind == pure) && c.when == nil && len(c.asks) == 0 && c.breaks == 0 && !c.Acts.Hopeless
}

func (g *Graph) next() string { return fmt.Sprintf("c%02d", len(g.Components)) }
