package equivalence

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run this seed alone, or with -seeds from this one on")
	seeds   = flag.Int("seeds", 0, "how many seeds each test runs; 0: HEDDLE_SEEDS, else a few")
)

// eachSeed runs f in a bubble of its own for every seed.
func eachSeed(t *testing.T, few int, f func(t *testing.T, seed uint64)) {
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
	for seed := first; seed < first+uint64(few); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, seed) })
		})
	}
}

// driveAll runs all workflows of the plan under their ids with a prefix.
func (w *world) driveAll(prefix string) []results {
	all := make([]results, len(w.plan.workflows))
	var wg sync.WaitGroup
	for i, wf := range w.plan.workflows {
		wg.Go(func() {
			var err error
			if all[i], err = w.drive(wf, prefix+wf.id); err != nil {
				w.t.Errorf("%s: %v", prefix+wf.id, err)
			}
		})
	}
	wg.Wait()
	return all
}

// check holds what a workflow came to against the oracle.
func (wf *workflow) check(t *testing.T, got results) {
	t.Helper()
	want := wf.graph.expected(wf.inputs())
	for name, list := range want.productions {
		have := []string{}
		for _, v := range got.productions[name] {
			have = append(have, string(v))
		}
		slices.Sort(have)
		if !slices.Equal(have, list) {
			t.Errorf("%s: %s produced %v, want %v", wf.id, name, have, list)
		}
	}
	if len(got.productions) != len(want.productions) {
		t.Errorf("%s: %d components have productions, want %d", wf.id, len(got.productions), len(want.productions))
	}
	for name, may := range want.outputs {
		if !slices.Contains(may, string(got.outputs[name])) {
			t.Errorf("%s: output %s is %s, want one of %v", wf.id, name, got.outputs[name], may)
		}
	}
	if got.counts.Completed != want.completed || got.counts.Skipped != want.skipped {
		t.Errorf("%s: %d completed and %d skipped runnables, want %d and %d", wf.id, got.counts.Completed, got.counts.Skipped, want.completed, want.skipped)
	}
	if c := got.counts; c.Ready+c.Waiting+c.Active+c.Failed+c.Cancelled > 0 {
		t.Errorf("%s rests %s with %+v", wf.id, got.status, c)
	}
}

func TestUndisturbedRunsGiveWhatTheOracleSays(t *testing.T) {
	eachSeed(t, 15, func(t *testing.T, seed uint64) { equivalent(t, newPlan(seed), faults{}) })
}

func TestKilledPlannersChangeNothing(t *testing.T) {
	eachSeed(t, 50, func(t *testing.T, seed uint64) {
		d := newDice(seed)
		equivalent(t, newPlan(seed), faults{planners: [][]fate{d.plannerFates(d.between(1, 4))}})
	})
}

func TestKilledTakersChangeNothing(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, seed uint64) {
		d := newDice(seed)
		equivalent(t, newPlan(seed), faults{takers: [][]fate{d.takerFates(d.between(1, maxKills/2)), d.takerFates(d.IntN(maxKills / 2))}})
	})
}

func TestKilledPlannersAndTakersChangeNothing(t *testing.T) {
	eachSeed(t, 45, func(t *testing.T, seed uint64) {
		d := newDice(seed)
		equivalent(t, newPlan(seed), faults{
			planners: [][]fate{d.plannerFates(d.between(1, 4))},
			takers:   [][]fate{d.takerFates(d.IntN(maxKills / 2)), d.takerFates(d.IntN(maxKills / 2))},
		})
	})
}

func TestRepeatedAndLateDeliveriesChangeNothing(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, seed uint64) {
		d := newDice(seed)
		equivalent(t, newPlan(seed), faults{
			planners: [][]fate{d.plannerFates(d.IntN(3))},
			takers:   [][]fate{d.takerFates(d.IntN(maxKills / 2))},
			repeats:  true,
		})
	})
}

func TestPlannersThatTakeOverFromEachOtherChangeNothing(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, seed uint64) {
		d := newDice(seed)
		equivalent(t, newPlan(seed), faults{
			planners: [][]fate{d.plannerFates(d.between(0, 3)), d.plannerFates(d.between(1, 3))},
			takers:   [][]fate{d.takerFates(d.IntN(maxKills / 2))},
		})
	})
}

// equivalent runs the plan undisturbed, then again under faults, and holds both
// against the oracle, against each other, and against what journal and stores
// say.
func equivalent(t *testing.T, p *plan, f faults) {
	w := newWorld(t, p)
	w.start(f)
	calm := w.driveAll(calmly)
	close(w.chaos)
	end := func() {}
	if f.repeats {
		end = w.repeat(p.seed)
	}
	got := w.driveAll("")
	end()
	w.stop()
	for i, wf := range p.workflows {
		wf.check(t, calm[i])
		wf.check(t, got[i])
		if calm[i].status != got[i].status {
			t.Errorf("%s rests %s, undisturbed %s", wf.id, got[i].status, calm[i].status)
		}
	}
	if !t.Failed() {
		w.audit()
	}
}
