package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/test/sim/workload"
)

var (
	oneSeed  = flag.Uint64("seed", 0, "run this seed alone")
	seeds    = flag.Int("seeds", 24, "how many seeds each test runs")
	runs     = flag.Int("runs", 2, "how often a seed is run that has to give the same each time")
	steps    = flag.Int("steps", 800, "with faults")
	over     = flag.Bool("embedded", false, "over the embedded broker, where a test has a choice")
	broken   = flag.String("flaw", "", "break a protection, by its name in the list of flaws")
	cheapest = flag.Uint64("cheapest", 0, "tell which of so many seeds show each flaw soonest")
	show     = flag.Bool("show", false, "print the history")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(Garbage)
	os.Exit(m.Run())
}

func options(seed uint64) Options {
	o := Options{Seed: seed, Steps: *steps, Embedded: *over, Keep: *show}
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

// someSeeds are the first of the seeds that a test runs, and how many there are.
func someSeeds() (first, n uint64) {
	if *oneSeed > 0 {
		return *oneSeed, 1
	}
	return 1, uint64(*seeds)
}

// onBroker are options of a run over the embedded broker.
func onBroker(seed uint64) Options {
	o := options(seed)
	o.Embedded = true
	return o
}

// fewer is a part of the seeds, for runs that take their time.
func fewer(first, n uint64) (uint64, uint64) { return first, max(1, n/3) }

// Every seed comes to rest, and all that may occur does, over enough of them.
func TestSeedsComeToRest(t *testing.T) {
	first, n := someSeeds()
	comeToRest(t, options, first, n)
}

// So they do over the embedded broker.
func TestSeedsComeToRestOverTheEmbeddedBroker(t *testing.T) {
	first, n := fewer(someSeeds())
	comeToRest(t, onBroker, first, n)
}

func comeToRest(t *testing.T, options func(uint64) Options, first, n uint64) {
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
	if missing := covered.Missing(excused(options(1).Embedded)); n >= EnoughSeeds && len(missing) > 0 {
		t.Errorf("within %d seeds there was no %s", n, strings.Join(missing, ", "))
	}
}

// The same seed gives the same history and writes the same records, whatever the
// goroutines did: on one processor as on two.
func TestARunIsDecidedByItsSeed(t *testing.T) {
	first, n := fewer(someSeeds())
	decided(t, options, first, n)
}

// The embedded broker has goroutines, timers, and random ids; none decides.
func TestARunOverTheEmbeddedBrokerIsDecidedByItsSeed(t *testing.T) {
	first, n := fewer(someSeeds())
	decided(t, onBroker, first, n)
}

func decided(t *testing.T, options func(uint64) Options, first, n uint64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := first; seed < first+n; seed++ {
		o := options(seed)
		o.Keep = true
		var was Result
		for i := range *runs {
			runtime.GOMAXPROCS(1 + i%2)
			if r := Run(o); i == 0 {
				was = r
			} else if r.Digest != was.Digest {
				t.Errorf("seed %d gives %x and %x: %s", seed, was.Digest, r.Digest, parting(was.History, r.History))
				break
			}
		}
	}
}

// parting is where two histories part.
func parting(a, b []Line) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: %s\nthen: %s", i, a[i].Text, b[i].Text)
		}
	}
	return fmt.Sprintf("one has %d lines, the other %d", len(a), len(b))
}
