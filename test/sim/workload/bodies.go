package workload

import (
	"slices"
	"strings"
)

// bodies makes more of some of the maps of a graph: something in the body before its work,
// values from around it, elements that fail and are tolerated, other reduces.
func (d Dice) bodies(g *Graph) {
	for _, fold := range slices.Clone(g.Components) {
		if !fold.feeds || fold.home != nil || d.One(4) {
			continue
		}
		over, inner := fold.over, fold
		if fold.of.kind == folded {
			inner = fold.of
		}
		if d.One(2) {
			g.try(func() { d.ahead(g, over, inner.of) })
		}
		if d.One(2) {
			g.try(func() { d.capture(g, fold, inner.of) })
		}
		if d.One(2) {
			d.fallible(g, inner.of, inner.over, over)
		}
		if d.One(3) {
			g.try(func() { d.beside(g, over, fold.Name+"n", nil) })
		}
		if inner != fold {
			if d.One(3) {
				g.try(func() { d.beside(g, inner.over, over.Name+".z", over) })
			}
			d.refold(g, inner)
		}
		d.refold(g, fold)
		if d.One(3) {
			g.try(func() { d.afterAll(g, over, fold.Name+"o") })
		}
	}
}

// try changes a graph, unless that makes it one that registration refuses.
func (g *Graph) try(change func()) {
	before, were := g.Components, make([]Component, len(g.Components))
	for i, c := range before {
		were[i] = *c
	}
	if change(); g.fits() {
		return
	}
	for i, c := range before {
		*c = were[i]
	}
	g.Components = before
}

// insert puts a component where its name belongs: a definition has them in that order.
func (g *Graph) insert(c *Component) (at int) {
	at, _ = slices.BinarySearchFunc(g.Components, c.Name, func(o *Component, name string) int { return strings.Compare(o.Name, name) })
	for _, o := range g.Components {
		o.arms, o.asks = slices.Clone(o.arms), slices.Clone(o.asks)
		for i := range o.arms {
			moved(&o.arms[i].parent, at)
		}
		for i := range o.asks {
			moved(&o.asks[i], at)
		}
		moved(&o.hush, at)
	}
	g.Components = slices.Insert(slices.Clone(g.Components), at, c)
	return at
}

func moved(index *int, at int) {
	if *index >= at {
		*index++
	}
}

func (g *Graph) index(c *Component) int { return slices.Index(g.Components, c) }

// ahead puts a component into the body of a map, ahead of the one that does the work there.
func (d Dice) ahead(g *Graph, over, work *Component) {
	a := &Component{Name: over.Name + ".a", inner: true, home: over, shape: number}
	switch d.IntN(6) {
	case 0, 1:
		a.kind, a.waits = sleep, forSignal
	case 2: // nobody sends its signal
		a.kind, a.waits, a.deaf, a.patience = sleep, forSignal, true, d.Millis(300, 2000)
		a.needs = fields{"on_failure": "skip"}
		a.own = own(false, a.needs)
	case 3:
		a.kind, a.guard = condition, guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	default:
		a = d.worked(a.Name, over)
	}
	g.insert(a)
	if work.home == over && d.One(2) {
		work.join, work.arms = single, []arm{{parent: g.index(a), name: "a"}}
		return
	}
	g.takes(work, a, d.One(3))
}

// capture lets the work of a body take a value from around it.
func (d Dice) capture(g *Graph, fold, work *Component) {
	outside := g.Components[d.IntN(g.index(fold)+1)]
	if work.home != fold.over && d.One(3) || outside.inner || outside.limit || outside.errors || outside == fold {
		if outside = fold.over; work.home == outside {
			return
		}
	}
	g.takes(work, outside, outside != fold.over && d.One(2))
}

// takes adds an arm to a component in a body, which has its element by another one.
func (g *Graph) takes(c, from *Component, optional bool) {
	switch c.join {
	case root:
		c.arms = []arm{{parent: g.index(c.home), name: "a"}}
	case single, named:
		c.arms = slices.Clone(c.arms)
	case list, anyOf, otherwise, caught, race:
		panic("no join of a body")
	}
	c.join = named
	c.arms = append(c.arms, arm{g.index(from), string(rune('a' + len(c.arms))), optional})
	c.shape = &shape{Named: true}
	for _, a := range c.arms {
		of := number // of an element
		if g.Components[a.parent].kind != mapping {
			of = g.yields(a.parent)
		}
		c.shape.parts = append(c.shape.parts, part{a.name, a.optional, of})
	}
	if c.shaped == added {
		c.shaped = plain
	}
}

// fallible lets some elements fail by plan, and a map tolerate that: as many as may fail, where
// the workflow would halt.
func (d Dice) fallible(g *Graph, work, near, far *Component) {
	over := Pick(d, near, near, far)
	over.tolerate = Pick(d, tolerance{count: d.Between(1, 3)}, tolerance{percent: d.Between(20, 100)})
	if work.Acts.Hopeless || work.Acts.External || work.Acts.Hangs > 0 {
		return
	}
	tight := work.join == root && over == work.home
	if work.breaks == 0 {
		work.breaks = int64(d.Between(2, 4))
	}
	if work.needs == nil {
		work.needs = fields{}
	}
	work.needs["on_failure"] = "skip"
	work.unheard()
	if work.kind == step && work.needs["max_retries"] == nil {
		work.needs["max_retries"] = d.IntN(3)
	}
	if d.One(2) {
		work.needs["on_failure"], work.halts = "halt", true
		if over.tolerate = Pick(d, tolerance{count: most}, tolerance{percent: 100}); tight { // of two neighbours one fails at most
			over.tolerate = tolerance{count: most / 2}
		}
	}
	work.own = own(false, work.needs)
}

// tolerated reports whether what fails in the component may be tolerated by a map around it.
func (c *Component) tolerated() bool {
	for h := c.home; h != nil; h = h.home {
		if h.tolerate != (tolerance{}) {
			return true
		}
	}
	return false
}

// beside adds another reduce over a map, of a component of its body.
func (d Dice) beside(g *Graph, over *Component, name string, home *Component) {
	var may []*Component
	for _, c := range g.Components {
		if c.home == over && c.kind != mapping && c.kind != condition && !c.errors && !c.reminds() {
			may = append(may, c)
		}
	}
	c := d.fold(name)
	c.feeds, c.inner, c.home, c.over, c.of = false, home != nil, home, over, Pick(d, may...)
	g.insert(c)
	d.refold(g, c)
}

// refold draws how a reduce goes about it.
func (d Dice) refold(g *Graph, c *Component) {
	if c.partial = d.One(2); d.One(3) {
		c.until = &guard{int64(d.IntN(3)), int64(d.Between(2, 4))}
	}
	if d.One(3) {
		c.byTask = true
		d.behave(c, false)
		c.own = own(false, c.needs)
	}
	at := g.index(c)
	used := slices.ContainsFunc(g.Components, func(o *Component) bool {
		return o.of == c || slices.ContainsFunc(o.arms, func(a arm) bool { return a.parent == at })
	})
	c.errors = !used && d.One(3)
}

// afterAll adds a component behind the end of a map.
func (d Dice) afterAll(g *Graph, over *Component, name string) {
	g.insert(&Component{
		Name: name, kind: pure, join: single, mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: ended,
		arms: []arm{{parent: g.index(over), name: "a"}},
	})
}
