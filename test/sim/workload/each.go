package workload

import "fmt"

// A map and its reduce are one component of a graph: the reduce, which has the arms of the
// map. The map and its body follow it in the graph, for those who find them by name.

// most is how many elements a list has at most.
const most = 4

// elements are those of the list that a map makes of a weight.
func elements(weight int64) []int64 {
	list := make([]int64, weight%(most+1))
	for i := range list {
		list[i] = (weight + 7*int64(i)) % prime
	}
	return list
}

// elementsExpr is the expression of that list.
func elementsExpr(weight string) string {
	return fmt.Sprintf("map(0..%d, (%s + # * 7) %% %d)[0:%s %% %d]", most-1, weight, prime, weight, most+1)
}

// each adds a map over what a component yields, perhaps with another one in it, and its reduce.
func (d Dice) each(g *Graph) {
	before := g.Components
	fold := d.fold(g.next())
	if i := d.IntN(len(before) + 1); i < len(before) && !before[i].inner && !before[i].limit { // with a child, a limit would last
		fold.join, fold.arms, fold.shape = single, []arm{{parent: i, name: "a"}}, g.yields(i)
	}
	over := &Component{Name: fold.Name + "m", kind: mapping, inner: true, parallel: d.IntN(4), shape: fold.shape}
	fold.over = over
	g.Components = append(g.Components, fold, over)
	if d.One(2) {
		fold.of = d.fold(over.Name + ".y")
		fold.of.inner = true
		fold.of.over = &Component{Name: over.Name + ".n", kind: mapping, inner: true, parallel: d.IntN(3), shape: number}
		fold.of.of = d.worked(over.Name + ".n.x")
		g.Components = append(g.Components, fold.of.over, fold.of.of, fold.of)
	} else {
		fold.of = d.worked(over.Name + ".x")
		g.Components = append(g.Components, fold.of)
	}
	if !g.fits() { // what feeds it may come more than once
		g.Components = before
	}
}

// fold is a reduce.
func (d Dice) fold(name string) *Component {
	return &Component{Name: name, kind: folded, mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: number}
}

// worked is the component of a body that does its work.
func (d Dice) worked(name string) *Component {
	c := &Component{Name: name, kind: Pick(d, step, step, pure), inner: true, mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: number}
	if c.kind == step {
		d.behave(c, false)
	} else if d.One(3) {
		c.breaks = int64(d.Between(2, 4))
		c.needs = fields{"on_failure": "skip"}
	}
	c.own = own(false, c.needs)
	return c
}

// mapSpec is what a definition says of the map of a reduce.
func (g *Graph) mapSpec(c *Component) map[string]any {
	weight, body := "input", map[string]any{}
	out := map[string]any{}
	if !c.inner {
		weight = c.weight()
		g.wire(c, out)
	}
	out["map"], out["do"] = elementsExpr(weight), body
	if c.over.parallel > 0 {
		out["parallel"] = c.over.parallel
	}
	of := c.of
	body[local(of.Name)] = g.spec(of)
	if of.kind == folded {
		body[local(of.over.Name)] = g.mapSpec(of)
	}
	return out
}

func local(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}

// foldSpec is what it says of the reduce.
func (c *Component) foldSpec() map[string]any {
	return map[string]any{
		"reduce": local(c.over.Name) + "." + local(c.of.Name), "init": c.add, "partial": true,
		"with": fmt.Sprintf("(acc * %d + item + index) %% %d", c.mul, prime),
	}
}

// foldOver is what comes of a list: elements that have failed are left out.
func (c *Component) foldOver(weight int64, e *Expectation) int64 {
	e.completed++ // the map
	acc := c.add
	for i, element := range elements(weight) {
		var y yielded
		c.of.activate(element, &y, e)
		for _, v := range y.facts {
			e.Productions[c.of.Name] = append(e.Productions[c.of.Name], text(v))
			acc = (acc*c.mul + v.(int64) + int64(i)) % prime
		}
	}
	return acc
}
