package workload

import "testing"

// What maps, reduces and signals can do is drawn, each within a few plans.
func TestPlansHaveAllThatMapsCanDo(t *testing.T) {
	const seeds = 60
	drawn := map[string]bool{
		"a body that takes values from around it": false, "an optional value from around it": false,
		"tolerance of a number": false, "tolerance of a share": false, "failures that only a map tolerates": false,
		"a signal in a body": false, "a signal that nobody sends": false, "a condition in a body": false,
		"a reduce beside another": false, "a reduce in a body beside another": false, "what follows the end of a map": false,
		"until": false, "errors": false, "failures that end a reduce": false, "a reduce by a task": false, "a reduce by a task in a body": false,
		"a reminder by a task": false, "a reminder by an expression": false, "a reminder in a body": false, "a signal that has a time": false,
	}
	saw := func(what string, does bool) {
		if _, ok := drawn[what]; !ok {
			t.Fatalf("nothing is called %q", what)
		}
		drawn[what] = drawn[what] || does
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		for _, w := range NewPlan(seed).Workflows {
			w.Graph.Expected(w.Inputs())
			if !w.Graph.fits() {
				t.Fatalf("seed %d: a graph is refused: %s", seed, w.Graph.Source())
			}
			for _, c := range w.Graph.Components {
				within := c.home != nil
				for _, a := range w.Graph.captured(c) {
					saw("a body that takes values from around it", !a.optional)
					saw("an optional value from around it", a.optional)
				}
				saw("tolerance of a number", c.tolerate.count > 0)
				saw("tolerance of a share", c.tolerate.percent > 0)
				saw("failures that only a map tolerates", c.halts)
				saw("a signal in a body", within && c.waits == forSignal && !c.deaf)
				saw("a signal that nobody sends", c.deaf)
				saw("a condition in a body", within && c.kind == condition)
				saw("a reduce beside another", c.kind == folded && !c.feeds && !within)
				saw("a reduce in a body beside another", c.kind == folded && !c.feeds && within)
				saw("what follows the end of a map", c.shape == ended)
				saw("until", c.until != nil)
				saw("errors", c.errors)
				saw("failures that end a reduce", c.kind == folded && !c.partial)
				saw("a reduce by a task", c.byTask && !within)
				saw("a reduce by a task in a body", c.byTask && within)
				saw("a reminder by a task", c.reminds() && c.kind == step)
				saw("a reminder by an expression", c.reminds() && c.kind == pure)
				saw("a reminder in a body", c.reminds() && within)
				saw("a signal that has a time", c.patience == lasting)
			}
		}
	}
	for what, was := range drawn {
		if !was {
			t.Errorf("within %d seeds there is no %s", seeds, what)
		}
	}
}
