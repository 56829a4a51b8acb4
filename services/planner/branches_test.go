package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

func (w *world) states(id string) map[string]string {
	w.t.Helper()
	var g struct {
		States map[string]string `json:"states"`
	}
	w.must(json.Unmarshal(w.query("graph", id, false), &g))
	return g.States
}

// What was not taken is told while the rest still runs, and not before it is known.
func TestTheGraphOfARunningWorkflowSaysWhatWasNotTaken(t *testing.T) {
	const yaml = `
name: d
components:
  n:      {step: f.id}
  big:    {condition: "input > 10", after: n}
  wait:   {step: f.id, after: big}
  then:   {step: f.id, after: wait}
  small:  {step: f.id, else: big}
  smaller: {step: f.id, after: small}
  either: {step: f.id, after: {any: [then, smaller]}}
  five:   {condition: "input == 5", after: n}
  both:   {step: f.pair, after: [then, five]}
`
	for _, c := range []struct {
		input string
		steps int
		want  string
	}{
		{"20", 0, "n:active"},
		{"20", 1, "big:completed both:not_taken n:completed small:not_taken smaller:not_taken wait:active"},
		{"20", 2, "big:completed both:not_taken n:completed small:not_taken smaller:not_taken then:active wait:completed"},
		{"20", 4, "big:completed both:not_taken either:completed n:completed small:not_taken smaller:not_taken then:completed wait:completed"},
		{"5", 1, "big:not_taken both:not_taken n:completed small:active then:not_taken wait:not_taken"},
		{"5", 4, "big:not_taken both:not_taken either:completed n:completed small:completed smaller:completed then:not_taken wait:not_taken"},
	} {
		w := newWorld(t, setting{})
		if refused := w.define("d", yaml); refused != "" {
			t.Fatal(refused)
		}
		if got := shown(w.states("w")); got != "" {
			t.Errorf("before there is a workflow: %s", got)
		}
		w.command("w", "start", w.startBody("d", c.input))
		for range c.steps {
			w.step()
		}
		if got := shown(w.states("w")); got != c.want {
			t.Errorf("input %s after %d steps:\n got %s\nwant %s", c.input, c.steps, got, c.want)
		}
	}
}

func shown(states map[string]string) string {
	var b []string
	for _, name := range slices.Sorted(maps.Keys(states)) {
		b = append(b, name+":"+states[name])
	}
	return strings.Join(b, " ")
}

// drawBranches is a random graph with conditions, whens, elses and joins of all kinds.
func drawBranches(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("name: d\ncomponents:\n")
	n := rapid.IntRange(2, 14).Draw(t, "components")
	whens := map[int]bool{}
	for i := range n {
		part := rapid.SampledFrom([]string{"step: f.id", "step: f.id", `expr: "1"`, `condition: "true"`, `condition: "false"`}).Draw(t, "kind")
		guarded := strings.HasPrefix(part, "condition")
		if rapid.IntRange(0, 3).Draw(t, "when") == 0 {
			part, guarded = part+fmt.Sprintf(", when: %q", rapid.SampledFrom([]string{"true", "false"}).Draw(t, "holds")), true
		}
		whens[i] = guarded
		fmt.Fprintf(&b, "  c%02d: {%s%s}\n", i, part, drawFeed(t, i, whens))
	}
	return b.String()
}

func drawFeed(t *rapid.T, i int, guarded map[int]bool) string {
	if i == 0 {
		return ""
	}
	p, q := rapid.IntRange(0, i-1).Draw(t, "parent"), rapid.IntRange(0, i-1).Draw(t, "other")
	switch kind := rapid.IntRange(0, 7).Draw(t, "join"); {
	case kind == 0:
		return ""
	case kind <= 2 && guarded[p]:
		return fmt.Sprintf(", else: c%02d", p)
	case kind == 3 && p != q:
		return fmt.Sprintf(", after: [c%02d, c%02d]", p, q)
	case kind == 4 && p != q:
		return fmt.Sprintf(", after: {any: [c%02d, c%02d]}", p, q)
	case kind == 5 && p != q:
		return fmt.Sprintf(", in: {a: c%02d, b: c%02d?}", p, q)
	default:
		return fmt.Sprintf(", after: c%02d", p)
	}
}

// Of a graph with one input: what is not taken at any time never runs, a component that
// the journal calls not taken is never said to have run, nor the other way round.
func TestWhatTheGraphSaysOfBranchesIsSo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		yaml := drawBranches(t)
		w := newWorld(t, setting{seed: rapid.Uint64Min(1).Draw(t, "seed"), concurrency: rapid.IntRange(0, 2).Draw(t, "concurrency")})
		if refused := w.define("d", yaml); refused != "" {
			t.Skip(refused)
		}
		w.command("w", "start", w.startBody("d", "1"))
		told := map[string]string{}
		for {
			for name, s := range w.states("w") {
				if s == definition.NotTaken {
					told[name] = s
				}
			}
			if !w.step() {
				break
			}
		}
		checkBranches(t, w, yaml, told)
	})
}

func checkBranches(t *rapid.T, w *world, yaml string, told map[string]string) {
	end, passedBy, ran := w.states("w"), w.notTaken(), w.ran()
	for name := range told {
		if end[name] != definition.NotTaken && end[name] != "" {
			t.Fatalf("%s was told as not taken and is %q\n%s", name, end[name], yaml)
		}
	}
	for _, name := range w.names() {
		switch s := end[name]; {
		case s == definition.NotTaken && ran[name], s == "completed" && passedBy[name] && !ran[name]:
			t.Fatalf("%s is %s (of the journal: not taken %t, ran %t)\n%s", name, s, passedBy[name], ran[name], yaml)
		case s == "" && ran[name]:
			t.Fatalf("%s ran and has no status\n%s", name, yaml)
		}
	}
}

func (w *world) names() []string {
	c, err := w.p.compile([]byte(w.defs["d"]))
	w.must(err)
	names := make([]string, len(c.graph.Components))
	for i, part := range c.graph.Components {
		names[i] = part.Name
	}
	return names
}

// notTaken and ran are what the journal tells of components.
func (w *world) notTaken() map[string]bool {
	names, all := w.names(), map[string]bool{}
	w.eachEvent(func(e events.Event) {
		if e, ok := e.(*events.BranchNotTaken); ok {
			all[names[e.Component]] = true
		}
	})
	return all
}

func (w *world) ran() map[string]bool {
	names, all := w.names(), map[string]bool{}
	w.eachEvent(func(e events.Event) {
		switch e := e.(type) {
		case *events.FactProduced:
			all[names[e.Component]] = true
		case *events.RunnableReady:
			all[names[e.Component]] = true
		}
	})
	return all
}

func (w *world) eachEvent(visit func(events.Event)) {
	for _, raw := range w.journal {
		rec, err := events.DecodeRecord(raw)
		w.must(err)
		for _, e := range rec.Events {
			visit(e)
		}
	}
}
