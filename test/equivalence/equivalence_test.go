package equivalence

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/heddle-run/heddle/internal/sim/workload"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run this seed alone, or with -seeds from this one on")
	seeds   = flag.Int("seeds", 0, "how many seeds each test runs; 0: HEDDLE_SEEDS, else a few")
)

// eachSeed runs f in a bubble of its own for every seed. Over enough seeds all
// must have occurred that the workload can bring about.
func eachSeed(t *testing.T, few int, f func(t *testing.T, seed uint64) workload.Coverage) {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("HEDDLE_SEEDS")); err == nil && n > 0 {
		few = n
	}
	first := uint64(1)
	if *oneSeed != 0 {
		first, few = *oneSeed, 1
	}
	if *seeds > 0 {
		few = *seeds
	}
	occurred := workload.NewCoverage()
	var mu sync.Mutex
	t.Cleanup(func() { // after all seeds
		if missing := occurred.Missing(unreached); few >= enoughSeeds && len(missing) > 0 {
			t.Errorf("within %d seeds there was no %s", few, strings.Join(missing, ", "))
		}
	})
	for seed := first; seed < first+uint64(few); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				covered := f(t, seed)
				mu.Lock()
				defer mu.Unlock()
				occurred.Add(covered)
			})
		})
	}
}

// driveAll runs all workflows of the plan under their ids with a prefix.
func (w *world) driveAll(prefix string) []workload.Results {
	all := make([]workload.Results, len(w.plan.Workflows))
	var wg sync.WaitGroup
	for i, wf := range w.plan.Workflows {
		wg.Go(func() {
			var err error
			if all[i], err = w.drive(wf, prefix+wf.ID); err != nil {
				w.t.Errorf("%s: %v", prefix+wf.ID, err)
			}
		})
	}
	wg.Wait()
	return all
}

func TestUndisturbedRunsGiveWhatTheOracleSays(t *testing.T) {
	eachSeed(t, 15, func(t *testing.T, seed uint64) workload.Coverage {
		return equivalent(t, workload.NewPlan(seed), faults{})
	})
}

func TestKilledPlannersChangeNothing(t *testing.T) {
	eachSeed(t, 50, func(t *testing.T, seed uint64) workload.Coverage {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faults{planners: [][]fate{plannerFates(d, d.Between(1, 4))}})
	})
}

func TestKilledTakersChangeNothing(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, seed uint64) workload.Coverage {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faults{takers: [][]fate{takerFates(d, d.Between(1, workload.MaxKills/2)), takerFates(d, d.IntN(workload.MaxKills/2))}})
	})
}

func TestKilledPlannersAndTakersChangeNothing(t *testing.T) {
	eachSeed(t, 45, func(t *testing.T, seed uint64) workload.Coverage {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faults{
			planners: [][]fate{plannerFates(d, d.Between(1, 4))},
			takers:   [][]fate{takerFates(d, d.IntN(workload.MaxKills/2)), takerFates(d, d.IntN(workload.MaxKills/2))},
		})
	})
}

func TestRepeatedAndLateDeliveriesChangeNothing(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, seed uint64) workload.Coverage {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faults{
			planners: [][]fate{plannerFates(d, d.IntN(3))},
			takers:   [][]fate{takerFates(d, d.IntN(workload.MaxKills/2))},
			repeats:  true,
		})
	})
}

func TestPlannersThatTakeOverFromEachOtherChangeNothing(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, seed uint64) workload.Coverage {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faults{
			planners: [][]fate{plannerFates(d, d.Between(0, 3)), plannerFates(d, d.Between(1, 3))},
			takers:   [][]fate{takerFates(d, d.IntN(workload.MaxKills/2))},
		})
	})
}

// equivalent runs the plan undisturbed, then again under faults, and holds both
// against the oracle, against each other, and against what journal and stores
// say. It returns what has occurred.
func equivalent(t *testing.T, p *workload.Plan, f faults) workload.Coverage {
	w := newWorld(t, p)
	w.start(f)
	calm := w.driveAll(workload.Calmly)
	close(w.chaos)
	end := func() {}
	if f.repeats {
		end = w.repeat(p.Seed)
	}
	got := w.driveAll("")
	end()
	w.stop()
	for i, wf := range p.Workflows {
		w.must(wf.Check(calm[i]))
		w.must(wf.Check(got[i]))
		if calm[i].Status != got[i].Status {
			t.Errorf("%s rests %s, undisturbed %s", wf.ID, got[i].Status, calm[i].Status)
		}
	}
	if t.Failed() {
		return workload.NewCoverage()
	}
	return w.audit()
}
