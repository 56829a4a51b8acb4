package definition_test

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

const drawing = `a: {step: orders.a}, c: {condition: "input > 1", after: a}, d: {sleep: 5s, after: c}, e: {expr: input, else: c}, ` +
	`j: {step: x, in: {left: d?, "r|t": e?}, when: "true"}`

func TestMermaid(t *testing.T) {
	g := graph(t, parts(drawing))
	want := `flowchart TD
  input([input])
  c0["a<br/>orders.a"]
  c1{"c"}
  c2(["d"])
  c3[/"e"/]
  c4["j<br/>x"]
  input --> c0
  c0 --> c1
  c1 --> c2
  c1 -->|"else"| c3
  c2 -.->|"left"| c4
  c3 -.->|"r#124;t"| c4
`
	if got := definition.Mermaid(g, nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got := definition.Mermaid(g, func(i int) string { return []string{"completed", "active", "", "odd", "waiting"}[i] })
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "  classDef active fill:") ||
		!strings.HasSuffix(got, "  class c0 completed\n  class c1 active\n  class c4 waiting\n") {
		t.Errorf("with status\n%s", got)
	}
}

// A body is drawn within its map.
func TestMermaidDrawsBodies(t *testing.T) {
	g := graph(t, parts(`o: {step: f.o}, m: {map: input, do: {n: {map: input, do: {x: {step: f.x, in: {e: n, o: o}}}}, y: {step: f.y}}}, `+
		`r: {reduce: m.y, with: "acc"}`))
	want := `flowchart TD
  input([input])
  c0[["m"]]
  subgraph s0["each of m"]
    c1[["n"]]
    subgraph s1["each of n"]
      c2["x<br/>f.x"]
    end
    c3["y<br/>f.y"]
  end
  c4["o<br/>f.o"]
  c5[\"r"/]
  input --> c0
  input --> c4
  c0 --> c1
  c1 -->|"e"| c2
  c4 -->|"o"| c2
  c0 --> c3
  c3 --> c5
`
	if got := definition.Mermaid(g, nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r := g.Render(nil); r.Components[2].Name != "m.n.x" || r.Components[2].Within != "m.n" {
		t.Errorf("%+v", r.Components[2])
	}
}

// Whatever an arm is called, it stays within its label.
func TestMermaidEscapesLabels(t *testing.T) {
	g := graph(t, parts("a: {step: x}, j: {step: y, in: {\"#quot;\\\"]`<b>&amp;|%% é\\n\": a}}"))
	got := definition.Mermaid(g, nil)
	if want := `  c0 -->|"#35;quot#59;#34;#93;#96;#60;b#62;#38;amp#59;#124;#37;#37;#32;é#10;"| c1`; !strings.Contains(got, want+"\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMermaidSaysWhatWasNotTaken(t *testing.T) {
	g := graph(t, parts(`a: {condition: "input > 1"}, b: {expr: input, after: a}`))
	got := definition.Mermaid(g, func(int) string { return definition.NotTaken })
	for _, want := range []string{`c0{"a<br/>not taken"}`, `c1[/"b<br/>not taken"/]`, "class c1 not_taken"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// Nothing leads to a reminder, so none is said to be not taken.
func TestMermaidSaysNothingOfAReminderThatHasNotRun(t *testing.T) {
	g := graph(t, parts(`a: {signal: go, remind: {every: 1h, max: 1, do: {expr: input}}}`))
	if got := definition.Mermaid(g, func(int) string { return definition.NotTaken }); !strings.Contains(got, "a/remind\"/]") || strings.Contains(got, "class c1") {
		t.Error(got)
	}
	if got := definition.Mermaid(g, func(int) string { return "completed" }); !strings.Contains(got, "class c1 completed") {
		t.Error(got)
	}
}

func TestTheGraphAsJSON(t *testing.T) {
	g := graph(t, parts(drawing)+"version: '1'\noutputs: {r: j}")
	b, err := g.JSON()
	want := `{"digest":"` + g.Digest + `","name":"t","version":"1","components":[` +
		`{"name":"a","kind":"step","task":"orders.a","queue":"orders","join":"root"},` +
		`{"name":"c","kind":"condition","join":"single","expr":"input \u003e 1"},` +
		`{"name":"d","kind":"sleep","join":"single"},` +
		`{"name":"e","kind":"expr","join":"else","expr":"input"},` +
		`{"name":"j","kind":"step","task":"x","queue":"default","join":"named","when":"true"}],` +
		`"edges":[{"to":"a"},{"from":"a","to":"c"},{"from":"c","to":"d"},{"from":"c","to":"e","else":true},` +
		`{"from":"d","to":"j","arm":"left","optional":true},{"from":"e","to":"j","arm":"r|t","optional":true}],"outputs":{"r":"j"}}`
	if err != nil || string(b) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, b, want)
	}
	if r := g.Render(func(int) string { return "active" }); r.Components[4].Status != "active" {
		t.Errorf("with status: %+v", r)
	}
}
