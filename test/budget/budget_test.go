//go:build budgets

package budget

import (
	"bytes"
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"go.yaml.in/yaml/v4"

	"github.com/heddle-run/heddle/internal/bench"
)

var write = flag.Bool("write-budget", false, "write the counts of this tree into budget.yaml")

const file = "budget.yaml"

// turns is how often a workload is counted; the medians are compared with the limits.
const turns = 3

// loads has one entry for each workload of the benchmarks.
var loads = map[string]load{
	"single":     {clients: 64, warmUp: 512, measured: 4096},
	"chain10":    {clients: 64, warmUp: 256, measured: 1024},
	"fanout100":  {clients: 8, warmUp: 16, measured: 192},
	"accumulate": {clients: 64, warmUp: 512, measured: 4096},
	"map10k":     {clients: 1, warmUp: 1, measured: 2},
}

func TestEveryWorkloadKeepsToItsBudget(t *testing.T) {
	limits := read(t)
	counted := map[string]Cost{}
	for _, name := range bench.Workloads {
		t.Run(name, func(t *testing.T) {
			w, err := bench.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			l, ok := loads[name]
			if !ok {
				t.Fatalf("loads has no entry for the workload %s", name)
			}
			var counts []Cost
			for range turns {
				counts = append(counts, count(t, w, l))
			}
			is := median(counts)
			t.Logf("%s\n%s", name, is)
			counted[name] = is.rounded()
			if *write {
				return
			}
			for _, over := range is.Excess(limits[name]) {
				t.Errorf("%s: %s (%s, written by make budgets-write)", name, over, file)
			}
		})
	}
	if *write {
		save(t, counted)
	}
}

// count runs one workload on one processor and without garbage collection, whose times
// differ from run to run and empty the pools of buffers.
func count(t *testing.T, w bench.Workload, l load) (cost Cost) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cryptotest.SetGlobalRandom(t, 1) // addresses decide which partition of replies a client reads
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 256)
		if _, err := d.client.Define(t.Context(), w.DefinitionName(), w.Definition); err != nil {
			t.Fatal(err)
		}
		d.run(w, l.clients, 0, l.warmUp)
		before := d.sum()
		d.run(w, l.clients, l.warmUp, l.warmUp+l.measured)
		cost = d.sum().minus(before).per(w.Steps*l.measured, l.measured)
	})
	return cost
}

func read(t *testing.T) map[string]Cost {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var limits map[string]Cost
	if err := yaml.Load(b, &limits, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return limits
}

// save replaces the limits and leaves the comment above them.
func save(t *testing.T, counted map[string]Cost) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := bytes.Cut(old, []byte("\n\n"))
	limits, err := yaml.Dump(counted, yaml.WithIndent(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(append(comment, "\n\n"...), limits...), 0o644); err != nil {
		t.Fatal(err)
	}
}
