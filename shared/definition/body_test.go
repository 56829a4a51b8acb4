package definition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

const mapped = "m: {map: input, do: {x: {step: f.x}, y: {step: f.y, after: x}}}, "

func TestBodiesAreChecked(t *testing.T) {
	checkRefused(t, []refusal{
		{parts("m: {map: input}"), "components.m.do", "missing"},
		{parts("m: {map: input, do: {}}"), "components.m.do", "names no component"},
		{parts("m: {map: input, do: [x]}"), "components.m.do", "must be an object"},
		{parts("m: {map: input, do: {x: {}}}"), "components.m.do.x", "has no kind"},
		{parts("m: {map: input, do: {'x.y': {step: f}}}"), "components.m.do.x.y", "is no name"},
		{parts("m: {map: 'input +', do: {x: {step: f}}}"), "components.m.map", "unexpected token"},
		{parts("m: {map: input, parallel: 0, do: {x: {step: f}}}"), "components.m.parallel", "must be an integer from 1"},
		{parts("m: {map: input, tolerate: -1, do: {x: {step: f}}}"), "components.m.tolerate", "must be an integer from 0"},
		{parts("m: {map: input, tolerate: 101%, do: {x: {step: f}}}"), "components.m.tolerate", "share of the elements"},
		{parts("a: {step: f, do: {x: {step: f}}}"), "components.a.do", "only a map has do"},
		{parts("m: {map: input, do: {x: {step: f, after: z}}}"), "components.m.do.x.after", `unknown component "z"`},
		{parts(mapped + "z: {step: f, after: y}"), "components.z.after", `unknown component "y"`},
		{parts("a: {step: f}, " + "m: {map: input, do: {a: {step: f}}}"), "components.m.do.a", `"a" is the name of a component around it too`},
		{parts("m: {map: input, do: {m: {step: f}}}"), "components.m.do.m", `"m" is the name of a component around it too`},
		{parts("a: {condition: input}, m: {map: input, do: {x: {step: f, else: a}}}"), "components.m.do.x.else", "outside of this body"},
		{parts("a: {step: f}, m: {map: input, do: {x: {step: f, catch: a}}}"), "components.m.do.x.catch", "outside of this body"},
		{parts("m: {map: input, do: {step: f}}"), "components.m.do.step", "step is a field of a component: give the component a name"},
		{parts("m: {map: input, do: null, x: {step: f}}"), "components.m.do", "is empty (what belongs to it is indented below it"},
		{parts(mapped + "b: {step: f, after: y}"), "components.b.after", "it is in the body of \"m\": a reduce takes its values out of there, as m.y"},
		{parts(mapped) + "outputs: {r: m.x}", "outputs.r", "it is in the body of \"m\": a reduce takes its values out"},
		{parts("m: {map: input, do: {x: {step: f, after: r}}}, r: {reduce: m.x, with: acc}"), "components.m", "part of a cycle: m → m.x → r → m"},
		{parts("m: {map: input, do: {x: {step: f, after: y}, y: {step: f, after: x}}}"), "components.m.do.x", "part of a cycle: m.x → m.y → m.x"},
		{parts("a: {step: x}, b: {step: x}, m: {map: input, after: {any: [a, b]}, do: {x: {step: f, after: [m, c]}}}, c: {step: f}"), "components.m", "cannot be fed by any"},
		{parts("a: {step: x}, b: {step: x}, n: {step: x, after: {any: [a, b]}}, m: {map: input, after: a, do: {x: {step: f, after: n}}}"), "components.m", `"n" can yield more than once`},
	})
}

func TestReducesAreChecked(t *testing.T) {
	const with = `, with: "acc + item"}`
	checkRefused(t, []refusal{
		{parts(mapped + "r: {reduce: m.y}"), "components.r.with", "missing"},
		{parts(mapped + "r: {reduce: [m]" + with), "components.r.reduce", "must name what is folded"},
		{parts(mapped + "r: {reduce: m.z" + with), "components.r.reduce", `the body of "m" has no component "z"`},
		{parts("lines: {map: input, do: {net: {step: f}}}, r: {reduce: lines.nett" + with), "components.r.reduce", "nearest: net"},
		{parts(mapped + "r: {reduce: m" + with), "components.r.reduce", `the value of the map "m" is {elements, failed}, which is no list (fold a component of its body: m.x)`},
		{parts(mapped + "n: {map: input, do: {z: {step: f}, r: {reduce: m" + with + "}}"), "components.n.do.r.reduce", "which is no list"},
		{parts("r: {reduce: input.lines" + with), "components.r.reduce", "a reduce folds the whole input (fold a component that takes the list out of it: {expr: input.lines})"},
		{parts("r: {reduce: input, init: {n: {$: input}}" + with), "components.r.init", "must be a literal"},
		{parts("a: {step: f, init: 0}"), "components.a.init", "only a reduce, accumulate or state_machine has init"},
		{parts(mapped + "r: {reduce: n.z" + with), "components.r.reduce", `unknown component "n"`},
		{parts("a: {step: f}, r: {reduce: a.z" + with), "components.r.reduce", `"a" has no body`},
		{parts("m: {map: input, do: {x: {step: f}, r: {reduce: m.x" + with + "}}"), "components.m.do.r.reduce", "is not beside this reduce"},
		{parts("m: {map: input, do: {n: {map: input, do: {x: {step: f}}}}}, r: {reduce: m.n.x" + with), "components.r.reduce", "reaches into a body within a body"},
		{parts(mapped + "r: {reduce: m.y, after: m" + with), "components.r.after", "names itself what feeds it"},
		{parts(mapped + "r: {reduce: m.y, when: 'true'" + with), "components.r.when", "nothing arrives before it is folded"},
		{parts(mapped + "r: {reduce: m.y, with: input}"), "components.r.with", "unknown name `input`; known are context, workflow, now(), acc, item, index"},
		{parts(mapped + "r: {reduce: m.y, until: acc, partial: 1" + with), "components.r.partial", "must be true or false"},
		{parts(mapped + "r: {reduce: m.y, until: index" + with), "components.r.until", "must be a boolean"},
		{parts(mapped + "r: {reduce: m.y, with: {queue: q}}"), "components.r.with", "names no task"},
		{parts(mapped + "r: {reduce: m.y, with: {step: f, params: {}}}"), "components.r.with.params", "unknown field"},
		{parts(mapped + "r: {reduce: m.y, policy: {max_retries: 2}" + with), "components.r.policy", "evaluated by the planner"},
		{parts("m: {map: input, do: {a: {step: f}, b: {step: f}, n: {step: f, after: {any: [a, b]}}}}, r: {reduce: m.n" + with), "components.r.reduce", `"m.n" can yield more than once`},
		{parts("a: {step: f}, b: {step: f}, m: {map: input, after: {any: [a, b]}, do: {x: {step: f}}}, r: {reduce: m.x" + with), "components.r.reduce", `"m" can yield more than once`},
	})
}

// A body's components count, and all are known by their full names.
func TestAGraphOfBodiesIsFlat(t *testing.T) {
	g := graph(t, parts(`order: {step: f.o},
  m: {map: input, after: order, do: {
    n: {map: input.lots, do: {x: {step: f.x, in: {lot: n, line: m, order: order, note: note?}}}},
    r: {reduce: n.x, with: "acc + item"}}},
  note: {step: f.note, when: input},
  s: {reduce: m.r, with: {step: f.add}}, l: {reduce: input, with: item}, done: {step: f.d, after: m}`))
	var names []string
	for i, c := range g.Components {
		if names = append(names, c.Name); c.Index != i || g.Lookup(c.Name) != c {
			t.Errorf("%s is at %d", c.Name, c.Index)
		}
	}
	if want := []string{"done", "l", "m", "m.n", "m.n.x", "m.r", "note", "order", "s"}; !slices.Equal(names, want) {
		t.Fatalf("%v", names)
	}
	m, n, x := g.Lookup("m"), g.Lookup("m.n"), g.Lookup("m.n.x")
	captured := func(c *definition.Component) (all []string) {
		for _, a := range c.Each.Captures {
			all = append(all, fmt.Sprint(g.Components[a.Component].Name, a.Optional))
		}
		return all
	}
	if got := captured(m); !slices.Equal(got, []string{"notetrue", "orderfalse"}) {
		t.Errorf("m captures %v", got)
	}
	if got := captured(n); !slices.Equal(got, []string{"mfalse", "notetrue", "orderfalse"}) {
		t.Errorf("m.n captures %v", got)
	}
	if m.Awaited() != 3 || n.Awaited() != 4 || !x.Single || !g.Lookup("m.r").Single || m.Leaf {
		t.Errorf("m waits for %d, n for %d; %+v", m.Awaited(), n.Awaited(), x)
	}
	var outs []string
	for _, o := range g.Outputs {
		outs = append(outs, o.Name)
	}
	if !slices.Equal(outs, []string{"done", "l", "s"}) {
		t.Errorf("outputs %v", outs)
	}
	if g.Lookup("s").Evaluated() || !g.Lookup("m.r").Evaluated() || !slices.Contains(g.Queues(), "f") {
		t.Error("a reduce with a task is attempted, one with an expression is not")
	}
}

func TestComponentsOfBodiesCount(t *testing.T) {
	var b strings.Builder
	for i := range definition.MaxComponents {
		fmt.Fprintf(&b, "c%d: {step: f}, ", i)
	}
	checkRefused(t, []refusal{{parts("m: {map: input, do: {" + b.String() + "}}"), "components", "more than 5000"}})
}
