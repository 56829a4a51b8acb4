package mermaid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// picture is what Mermaid makes of a drawing.
type picture struct {
	Error string
	Nodes map[string]struct {
		Label, Shape string
		Classes      []string
	}
	Edges []edge
}

type edge struct {
	From, To, Label string
	Dotted          bool
}

// draw has Mermaid draw all texts. Where Mermaid is not installed the test is skipped,
// unless HEDDLE_MERMAID is "required".
func draw(t *testing.T, texts ...string) []picture {
	t.Helper()
	absent := t.Skipf
	if os.Getenv("HEDDLE_MERMAID") == "required" {
		absent = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		absent("Mermaid cannot be asked: there is no node on the path (`make mermaid` needs node and npm)")
	}
	for _, module := range []string{"mermaid", "jsdom"} {
		if _, err := os.Stat("node_modules/" + module + "/package.json"); err != nil {
			absent("Mermaid cannot be asked: test/mermaid/node_modules has no %s; `make mermaid` installs it", module)
		}
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, "draw.mjs")
	var said bytes.Buffer
	run.Stdin, run.Stderr = bytes.NewReader(in), &said
	out, err := run.Output()
	if err != nil {
		t.Fatalf("draw.mjs: %v\n%s", err, said.String())
	}
	var all []picture
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(texts) {
		t.Fatalf("draw.mjs answered %d of %d: %v\n%s", len(all), len(texts), err, out)
	}
	return all
}

func compile(t *testing.T, yaml string) *definition.Graph {
	t.Helper()
	d, err := definition.Parse([]byte(yaml))
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	g, err := definition.Compile(d)
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	return g
}

// hold compares a picture with the graph: every component is a node with its names, its
// shape and its status, every arm an edge with its name.
func hold(t *testing.T, g *definition.Graph, status func(int) string, text string, p picture) {
	t.Helper()
	if p.Error != "" {
		t.Errorf("Mermaid refuses what is drawn: %s\n%s", p.Error, text)
		return
	}
	for _, c := range g.Components {
		want := c.Local()
		if c.Task != "" {
			want += "\n" + c.Task
		}
		if status != nil && status(c.Index) == definition.NotTaken {
			want += "\nnot taken"
		}
		n := p.Nodes[fmt.Sprintf("c%d", c.Index)]
		if shapes := map[policy.Kind]string{
			policy.KindStep: "square", policy.KindCondition: "diamond", policy.KindSleep: "stadium", policy.KindExpr: "lean_right",
			policy.KindMap: "subroutine", policy.KindReduce: "inv_trapezoid",
		}; n.Label != want || n.Shape != shapes[c.Kind] {
			t.Errorf("component %d is drawn as %q (%s), want %q (%s)", c.Index, n.Label, n.Shape, want, shapes[c.Kind])
		}
		if status != nil && !slices.Contains(n.Classes, status(c.Index)) {
			t.Errorf("component %d has the classes %q, want %s", c.Index, n.Classes, status(c.Index))
		}
	}
	want := edges(g)
	for i, e := range p.Edges {
		e.Label = asHTML(e.Label)
		if i >= len(want) || e != want[i] {
			t.Errorf("edge %d is drawn as %+v\nof\n%s", i, e, text)
		}
	}
	if len(p.Edges) < len(want) {
		t.Errorf("the edges %+v are not drawn\nof\n%s", want[len(p.Edges):], text)
	}
}

func edges(g *definition.Graph) []edge {
	var all []edge
	for _, root := range g.Roots {
		all = append(all, edge{From: "input", To: fmt.Sprintf("c%d", root)})
	}
	for _, c := range g.Components {
		for i, a := range c.Arms {
			if c.Join == definition.Fold && i > 0 {
				continue // that its map is over
			}
			e := edge{From: fmt.Sprintf("c%d", a.Component), To: fmt.Sprintf("c%d", c.Index), Dotted: a.Optional}
			switch {
			case c.Join == definition.Else:
				e.Label = "else"
			case c.Join == definition.Named:
				e.Label = asHTML(a.Name)
			case c.When != nil:
				e.Label = "when"
			}
			all = append(all, e)
		}
	}
	return all
}

// asHTML is a text as HTML shows it: however much space there is, it is one.
func asHTML(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestWhatIsDrawnIsReadByMermaid(t *testing.T) {
	var texts []string
	var held []func(picture)
	add := func(yaml string, status func(int) string) {
		g := compile(t, yaml)
		text := definition.Mermaid(g, status)
		texts = append(texts, text)
		held = append(held, func(p picture) { hold(t, g, status, text, p) })
	}
	for _, yaml := range []string{kindsAndJoins, components(words), tasks()} {
		add(yaml, nil)
		add(yaml, func(int) string { return definition.NotTaken })
	}
	for names := range slices.Chunk(hostile, 12) { // Mermaid's time grows with the square of a picture
		add(arms(names), nil)
	}
	for _, s := range statuses {
		add(kindsAndJoins, func(int) string { return s })
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		add(arms(garbled(rnd)), nil)
	}
	for i, p := range draw(t, texts...) {
		held[i](p)
	}
}

// The check sees an error: what would be wrong is refused, or drawn otherwise.
func TestMermaidRefusesWhatIsNotEscaped(t *testing.T) {
	all := draw(t, "flowchart TD\n  c0[\"a\"b\"]\n", "flowchart TD\n  c0[\"a#59;<b>b</b>\"]\n", "flowchart TD\n  c0[\"a\"\n")
	if all[0].Error == "" || all[2].Error == "" {
		t.Errorf("Mermaid took %+v", all)
	}
	if label := all[1].Nodes["c0"].Label; label != "a;b" {
		t.Errorf("HTML is drawn as %q", label)
	}
}
