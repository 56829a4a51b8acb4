package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/internal/sim/workload"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run this seed alone")
	seeds   = flag.Int("seeds", 24, "how many seeds each test runs")
	steps   = flag.Int("steps", 800, "with faults")
	broken  = flag.String("flaw", "", "break a protection, by its name in the list of flaws")
	show    = flag.Bool("show", false, "print the history")
)

func options(seed uint64) Options {
	o := Options{Seed: seed, Steps: *steps, Keep: *show}
	for _, f := range flaws {
		if f.name == *broken {
			o.Flaws, o.Kinds = f.flaws, f.kinds
		}
	}
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return o
}

// Every seed comes to rest, and all that may occur does, over enough of them.
func TestSeedsComeToRest(t *testing.T) {
	first, n := uint64(1), uint64(*seeds)
	if *oneSeed > 0 {
		first, n = *oneSeed, 1
	}
	covered := workload.NewCoverage()
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+n; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				r := Run(options(seed))
				for _, line := range r.History {
					fmt.Println(line.Text)
				}
				if r.Err != nil {
					t.Errorf("seed %d after %d steps, %v: %v\nfaults: %v", seed, r.Steps, r.Took, r.Err, r.Faults)
				}
				mu.Lock()
				covered.Add(r.Covered)
				mu.Unlock()
			})
		}
	})
	if missing := covered.Missing(unreached); n >= EnoughSeeds && len(missing) > 0 {
		t.Errorf("within %d seeds there was no %s", n, strings.Join(missing, ", "))
	}
}

// The same seed gives the same history, whatever the goroutines did.
func TestARunIsDecidedByItsSeed(t *testing.T) {
	for seed := uint64(1); seed <= uint64(*seeds); seed++ {
		o := options(seed)
		o.Keep = true
		a, b := Run(o), Run(o)
		if a.Digest == b.Digest { // of what was chosen; what replies of one owner say may change places
			continue
		}
		for i := range a.History {
			if i >= len(b.History) || a.History[i] != b.History[i] {
				t.Errorf("seed %d, line %d: %s\nthen: %s", seed, i, a.History[i].Text, append(b.History, Line{Text: "nothing"})[min(i, len(b.History))].Text)
				break
			}
		}
		t.Errorf("seed %d gives %x and %x", seed, a.Digest, b.Digest)
	}
}
