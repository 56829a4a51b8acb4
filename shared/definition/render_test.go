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
