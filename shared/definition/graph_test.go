package definition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// drawn writes the wiring of a graph on one line per component.
func drawn(g *definition.Graph) string {
	var b strings.Builder
	name := func(i int) string { return g.Components[i].Name }
	for _, c := range g.Components {
		fmt.Fprintf(&b, "%s %s(", c.Name, c.Join)
		for i, arm := range c.Arms {
			if i > 0 {
				b.WriteString(" ")
			}
			if arm.Name != "" {
				b.WriteString(arm.Name + ":")
			}
			b.WriteString(name(arm.Component))
			if arm.Optional {
				b.WriteString("?")
			}
		}
		b.WriteString(") →")
		for _, e := range c.Children {
			fmt.Fprintf(&b, " %s.%d", name(e.Component), e.Arm)
			if e.Else {
				b.WriteString("!")
			}
		}
		if c.Leaf {
			b.WriteString(" leaf")
		}
		if !c.Single {
			b.WriteString(" many")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestEachFormOfWiring(t *testing.T) {
	for src, want := range map[string]string{
		"a: {step: x}":                                                         "a root() → leaf\n",
		"a: {step: x}, b: {step: x, after: a}":                                 "a root() → b.0\nb single(a) → leaf\n",
		"a: {step: x}, b: {step: x, in: a}":                                    "a root() → b.0\nb single(a) → leaf\n",
		"b: {step: x}, a: {step: x}, s: {step: x, after: [b, a]}":              "a root() → s.1\nb root() → s.0\ns list(b a) → leaf\n",
		"a: {step: x}, s: {step: x, in: [a]}":                                  "a root() → s.0\ns list(a) → leaf\n",
		"a: {step: x}, b: {step: x}, s: {step: x, in: {y: a, x: b?}}":          "a root() → s.1\nb root() → s.0\ns named(x:b? y:a) → leaf\n",
		"a: {step: x}, b: {step: x}, s: {step: x, after: [a?, b]}":             "a root() → s.0\nb root() → s.1\ns list(a? b) → leaf\n",
		"a: {step: x}, b: {step: x}, s: {step: x, after: {any: [b, a]}}":       "a root() → s.1\nb root() → s.0\ns any(b a) → leaf many\n",
		"a: {step: x}, any: {step: x, after: a}, s: {step: x, after: any}":     "a root() → any.0\nany single(a) → s.0\ns single(any) → leaf\n",
		"a: {step: x, when: input}, e: {step: x, else: a}":                     "a root() → e.0! leaf\ne else(a) → leaf\n",
		"a: {condition: input}, b: {step: x, after: a}, e: {step: x, else: a}": "a root() → b.0 e.0!\nb single(a) → leaf\ne else(a) → leaf\n",
		"a: {step: x}, b: {step: x, after: a}, s: {step: x, after: [a, b]}":    "a root() → b.0 s.0\nb single(a) → s.1\ns list(a b) → leaf\n",
	} {
		if got := drawn(graph(t, parts(src))); got != want {
			t.Errorf("%s\ngot\n%swant\n%s", src, got, want)
		}
	}
}

func TestComponentsStandByName(t *testing.T) {
	g := graph(t, parts("zeta: {step: x}, Alpha: {step: x}, beta: {step: x}, _x: {step: x}"))
	var names []string
	for i, c := range g.Components {
		names = append(names, c.Name)
		if c.Index != i || g.Lookup(c.Name) != c {
			t.Errorf("%s has index %d at %d", c.Name, c.Index, i)
		}
	}
	if !slices.IsSorted(names) || g.Lookup("gamma") != nil || g.Lookup("") != nil {
		t.Errorf("%v", names)
	}
}

func TestOutputsAreDeclaredOrElseTheLeaves(t *testing.T) { // F1
	show := func(g *definition.Graph) string {
		var out []string
		for _, o := range g.Outputs {
			out = append(out, o.Name+"="+g.Components[o.Component].Name)
		}
		return strings.Join(out, " ")
	}
	src := parts("a: {step: x}, b: {step: x, after: a}, c: {step: x, after: a}")
	if got := show(graph(t, src)); got != "b=b c=c" {
		t.Errorf("leaves: %s", got)
	}
	if got := show(graph(t, src+"outputs: {z: a, first: b}")); got != "first=b z=a" {
		t.Errorf("declared: %s", got)
	}
	if got := show(graph(t, src+"outputs: {}")); got != "" {
		t.Errorf("declared to be none: %s", got)
	}
}

func TestTheQueueOfATask(t *testing.T) {
	for task, want := range map[string]string{
		"orders.price": "orders", "orders.price.net": "orders", "price": "default", "http.request": "default", "kafka.produce": "default",
		"exec.command": "default", "terminal.submit": "default", "test.echo": "default", "https.get": "https",
	} {
		if got := graph(t, parts("a: {step: "+task+"}")).Components[0].Queue; got != want {
			t.Errorf("%s goes to %s, want %s", task, got, want)
		}
	}
	if got := graph(t, parts("a: {step: orders.price, queue: fast}")).Components[0].Queue; got != "fast" {
		t.Errorf("a component's own queue: %s", got)
	}
}

func TestKindsOfComponents(t *testing.T) {
	g := graph(t, parts(`a: {step: x}, b: {expr: "input + 1"}, c: {condition: "input > 1"}, d: {sleep: 5s}, e: {sleep_ms: 250}, `+
		`f: {sleep: {"$": input.wait}}, g: {step: x, when: "true"}`))
	kinds := []policy.Kind{policy.KindStep, policy.KindExpr, policy.KindCondition, policy.KindSleep, policy.KindSleep, policy.KindSleep, policy.KindStep}
	guarded := []bool{false, false, true, false, false, false, true}
	for i, c := range g.Components {
		if c.Kind != kinds[i] || c.Guarded() != guarded[i] || (c.Expr != nil) != (c.Kind == policy.KindExpr || c.Kind == policy.KindCondition) {
			t.Errorf("%s: kind %s, guarded %v", c.Name, c.Kind, c.Guarded())
		}
	}
}

// A model of what can happen, against the analysis: every choice of outcomes of the guards, counted by brute force.
func TestSingleIsNeverClaimedWrongly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := randomComponents(t)
		d, err := definition.Parse([]byte(src))
		if err != nil {
			t.Skip(err.Error()) // refused for a join arm or as unreachable
		}
		g, err := definition.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		most := make([]int, len(g.Components))
		for choice := range 1 << len(g.Components) {
			for i, n := range activations(g, choice) {
				most[i] = max(most[i], n)
			}
		}
		for i, c := range g.Components {
			if c.Single && most[i] > 1 {
				t.Fatalf("%s\n%s counts as single and runs %d times", src, c.Name, most[i])
			}
			if most[i] == 0 {
				t.Fatalf("%s\n%s can never run and was accepted", src, c.Name)
			}
		}
	})
}

// randomComponents draws a few components, each wired to earlier ones.
func randomComponents(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("name: t\ncomponents:\n")
	n := rapid.IntRange(2, 7).Draw(t, "components")
	var guarded []int
	for i := range n {
		body := "step: x"
		if rapid.Bool().Draw(t, "condition") {
			body = "condition: input"
		}
		parents := rapid.SliceOfNDistinct(rapid.IntRange(0, max(i-1, 0)), 1, min(max(i, 1), 3), rapid.ID[int]).Draw(t, "parents")
		names := make([]string, len(parents))
		for k, p := range parents {
			names[k] = fmt.Sprintf("c%d", p)
		}
		form := rapid.SampledFrom([]string{"root", "single", "list", "any", "any", "else", "else", "optional"}).Draw(t, "form")
		switch {
		case i == 0 || form == "root":
		case form == "single":
			body += ", after: " + names[0]
		case form == "list":
			body += ", after: [" + strings.Join(names, ", ") + "]"
		case form == "optional":
			body += ", after: [" + strings.Join(names, "?, ") + "?]"
		case form == "any":
			body += ", after: {any: [" + strings.Join(names, ", ") + "]}"
		case len(guarded) > 0:
			body += fmt.Sprintf(", else: c%d", rapid.SampledFrom(guarded).Draw(t, "else of"))
		}
		if strings.HasPrefix(body, "condition") {
			guarded = append(guarded, i)
		}
		fmt.Fprintf(&b, "  c%d: {%s}\n", i, body)
	}
	return b.String()
}

// activations counts, for one outcome of each condition, how often each component runs; bit i of choice is whether
// condition i holds. A guard that runs more than once is counted as both taken and not taken each time.
func activations(g *definition.Graph, choice int) []int {
	runs, taken, not := make([]int, len(g.Components)), make([]int, len(g.Components)), make([]int, len(g.Components))
	for i, c := range g.Components { // named c0, c1, … : parents come first
		runs[i] = 1
		for k, arm := range c.Arms {
			switch from := arm.Component; {
			case c.Join == definition.Else:
				runs[i] = not[from]
			case c.Join == definition.Any && k > 0:
				runs[i] += taken[from]
			case c.Join == definition.Any || c.Join == definition.Single:
				runs[i] = taken[from]
			case taken[from] == 0 && !arm.Optional:
				runs[i] = 0
			}
		}
		taken[i] = runs[i]
		switch {
		case !c.Guarded():
		case runs[i] > 1:
			not[i] = runs[i]
		case choice&(1<<i) == 0:
			taken[i], not[i] = 0, runs[i]
		}
	}
	return runs
}
