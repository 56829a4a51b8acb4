package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// dag is a random graph of pure steps with its oracle.
type dag struct {
	parents [][]int // of each component; none: fed by the input
	add     []int
}

func drawDag(t *rapid.T) dag {
	n := rapid.IntRange(1, 30).Draw(t, "components")
	d := dag{parents: make([][]int, n), add: make([]int, n)}
	for i := range n {
		d.add[i] = rapid.IntRange(0, 9).Draw(t, "add")
		k := min(i, rapid.IntRange(0, 4).Draw(t, "parents"))
		d.parents[i] = rapid.Permutation(upTo(i)).Draw(t, "order")[:k]
	}
	return d
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// yaml writes the definition; a join's value is the list of its parents' values.
func (d dag) yaml() string {
	var b strings.Builder
	b.WriteString("name: dag\ncomponents:\n")
	for i, ps := range d.parents {
		fmt.Fprintf(&b, "  c%02d: {step: f.weigh-%d", i, d.add[i])
		if len(ps) > 0 {
			names := make([]string, len(ps))
			for j, p := range ps {
				names[j] = fmt.Sprintf("c%02d", p)
			}
			after := names[0]
			if len(names) > 1 {
				after = "[" + strings.Join(names, ", ") + "]"
			}
			fmt.Fprintf(&b, ", after: %s", after)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// weigh is what every component computes: order and value of parents matter.
func weigh(values []float64, add float64) float64 {
	sum := add
	for i, v := range values {
		sum += float64(i+1) * v
	}
	return float64(int64(sum) % 1_000_003)
}

// expected evaluates the graph topologically for one input.
func (d dag) expected(input float64) []float64 {
	out := make([]float64, len(d.parents))
	for i, ps := range d.parents {
		values := []float64{input}
		if len(ps) > 0 {
			values = nil
			for _, p := range ps {
				values = append(values, out[p])
			}
		}
		out[i] = weigh(values, float64(d.add[i]))
	}
	return out
}

// TestResultsOfRandomGraphsDoNotDependOnTheSchedule is property 1 (confluence)
// with properties 2 to 6 held by the world's own checks: any order, any
// concurrency, restarts and duplicates give the oracle's values.
func TestResultsOfRandomGraphsDoNotDependOnTheSchedule(t *testing.T) { // A27
	rapid.Check(t, func(t *rapid.T) {
		d := drawDag(t)
		inputs := rapid.SliceOfNDistinct(rapid.IntRange(0, 100), 1, 5, rapid.ID).Draw(t, "inputs")
		w := newWorld(t, setting{
			seed:        rapid.Uint64Min(1).Draw(t, "seed"),
			concurrency: rapid.SampledFrom([]int{0, 1, 2, 8}).Draw(t, "concurrency"),
			restart:     rapid.Bool().Draw(t, "restart") && len(d.parents) < 10,
			duplicate:   rapid.Bool().Draw(t, "duplicate"),
		})
		if refused := w.define("dag", d.yaml()); refused != "" {
			t.Fatalf("%s\n%s", refused, d.yaml())
		}
		feed(w, inputs, rapid.IntRange(0, 5).Draw(t, "steps between inputs"))
		w.run()
		checkDag(t, w, d, inputs)
	})
}

func feed(w *world, inputs []int, between int) {
	for i, in := range inputs {
		if i == 0 {
			w.command("w", "start", w.startBody("dag", fmt.Sprint(in)))
		} else {
			w.command("w", "input", fmt.Sprintf(`{"input":%d}`, in))
		}
		for range between {
			w.step()
		}
	}
}

func checkDag(t *rapid.T, w *world, d dag, inputs []int) {
	s := w.status("w")
	if s.Status != "idle" || int(s.Counts.Completed) != len(inputs)*len(d.parents) {
		t.Fatalf("the workflow is %s with %d completed runnables", s.Status, s.Counts.Completed)
	}
	var got struct {
		Productions map[string][]float64 `json:"productions"`
	}
	w.must(json.Unmarshal(w.query("productions", "w", false), &got))
	for i := range d.parents {
		var want []float64
		for _, in := range inputs {
			want = append(want, d.expected(float64(in))[i])
		}
		have := got.Productions[fmt.Sprintf("c%02d", i)]
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			t.Fatalf("c%02d produced %v, want %v", i, have, want)
		}
	}
	for key, n := range w.calls {
		if n != len(inputs) {
			t.Fatalf("%s ran %d times for %d inputs", key, n, len(inputs))
		}
	}
}
