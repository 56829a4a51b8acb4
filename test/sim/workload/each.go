package workload

import (
	"encoding/json"
	"fmt"
)

// A map and the first of its reduces are one component of a graph: the reduce, which has the
// arms of the map. The map and its body follow it in the graph, for those who find them by name.

// most is how many elements a list has at most.
const most = 4

// ended is the shape of the value that a map has outside of its body.
var ended = &shape{Named: true, parts: []part{{"elements", false, number}, {"failed", false, number}}}

// tolerance is how many elements of a list may fail.
type tolerance struct{ count, percent int }

func (t tolerance) of(n int) int { return t.count + n*t.percent/100 }

// spec is what a definition says; nil: nothing.
func (t tolerance) spec() any {
	switch {
	case t.percent > 0:
		return fmt.Sprintf("%d%%", t.percent)
	case t.count > 0:
		return t.count
	}
	return nil
}

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
		fold.of.inner, fold.of.home = true, over
		fold.of.over = &Component{Name: over.Name + ".n", kind: mapping, inner: true, home: over, parallel: d.IntN(3), shape: number}
		fold.of.of = d.worked(over.Name+".n.x", fold.of.over)
		g.Components = append(g.Components, fold.of.over, fold.of.of, fold.of)
	} else {
		fold.of = d.worked(over.Name+".x", over)
		g.Components = append(g.Components, fold.of)
	}
	if !g.fits() { // what feeds it may come more than once
		g.Components = before
	}
}

// fold is the first reduce of a map.
func (d Dice) fold(name string) *Component {
	return &Component{Name: name, kind: folded, feeds: true, partial: true, mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: number}
}

// worked is a component of a body that does some work.
func (d Dice) worked(name string, home *Component) *Component {
	c := &Component{
		Name: name, kind: Pick(d, step, step, pure), inner: true, home: home, mul: int64(d.Between(1, 9)), add: int64(d.Between(0, 99)), shape: number,
	}
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
	body := map[string]any{}
	out := map[string]any{"map": elementsExpr(c.weight()), "do": body}
	g.wire(c, out)
	if c.over.parallel > 0 {
		out["parallel"] = c.over.parallel
	}
	if t := c.over.tolerate.spec(); t != nil {
		out["tolerate"] = t
	}
	for _, in := range g.Components {
		if in.home != c.over || in.kind == mapping || in.reminds() {
			continue
		}
		body[local(in.Name)] = g.spec(in)
		if in.feeds {
			body[local(in.over.Name)] = g.mapSpec(in)
		}
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

// fold is what a definition says of a reduce.
func (c *Component) fold(out map[string]any) {
	out["reduce"], out["init"] = local(c.over.Name)+"."+local(c.of.Name), c.add
	out["with"] = fmt.Sprintf("(acc * %d + item + index) %% %d", c.mul, prime)
	if c.byTask {
		out["with"] = map[string]any{"step": c.task()}
	}
	if c.until != nil {
		out["until"] = fmt.Sprintf("not (%s)", c.until.expr("acc"))
	}
	if c.partial {
		out["partial"] = true
	}
	if c.errors {
		out["errors"] = true
	}
}

// folds is what a reduce makes of an item.
func (c *Component) folds(acc, item, index int64) int64 { return (acc*c.mul + item + index) % prime }

// foldTask is the result of a task that folds.
func (c *Component) foldTask(input json.RawMessage) (json.RawMessage, error) {
	var of struct{ Acc, Item, Index *int64 }
	if err := json.Unmarshal(input, &of); err != nil || of.Acc == nil || of.Item == nil || of.Index == nil {
		return nil, fmt.Errorf("input %s: it is not acc, item and index", input)
	}
	return json.RawMessage(fmt.Sprint(c.folds(*of.Acc, *of.Item, *of.Index))), nil
}
