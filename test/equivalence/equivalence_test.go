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

	"github.com/heddle-run/heddle/test/sim/workload"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run this seed alone, or with -seeds from this one on")
	seeds   = flag.Int("seeds", 0, "how many seeds each test runs; 0: HEDDLE_SEEDS, else a few")
)

// few are the seeds of each test where nobody asks for more: `make seeds`, which CI runs, does.
const few = 3

// eachSeed runs f in a bubble of its own for every seed. Over enough seeds all
// must have occurred that the workload can bring about, and the wanted faults.
func eachSeed(t *testing.T, wanted []string, f func(t *testing.T, seed uint64) occurred) {
	t.Helper()
	count := few
	if n, err := strconv.Atoi(os.Getenv("HEDDLE_SEEDS")); err == nil && n > 0 {
		count = n
	}
	first := uint64(1)
	if *oneSeed != 0 {
		first, count = *oneSeed, 1
	}
	if *seeds > 0 {
		count = *seeds
	}
	all := newOccurred()
	var mu sync.Mutex
	t.Cleanup(func() { // after all seeds
		if missing := all.missing(count, wanted); len(missing) > 0 {
			t.Errorf("within %d seeds there was no %s", count, strings.Join(missing, ", "))
		}
	})
	for seed := first; seed < first+uint64(count); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				covered := f(t, seed)
				mu.Lock()
				defer mu.Unlock()
				all.add(covered)
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
	eachSeed(t, nil, func(t *testing.T, seed uint64) occurred {
		return equivalent(t, workload.NewPlan(seed), faultPlan{})
	})
}

func TestKilledPlannersChangeNothing(t *testing.T) {
	eachSeed(t, killedDisks, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{planners: [][]fate{plannerFates(d, d.Between(1, 4))}})
	})
}

func TestKilledWorkersChangeNothing(t *testing.T) {
	eachSeed(t, nil, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{workers: [][]fate{workerFates(d, d.Between(1, workload.MaxKills/2)), workerFates(d, d.IntN(workload.MaxKills/2))}})
	})
}

func TestKilledPlannersAndWorkersChangeNothing(t *testing.T) {
	eachSeed(t, killedDisks, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{plannerFates(d, d.Between(1, 4))},
			workers:  [][]fate{workerFates(d, d.IntN(workload.MaxKills/2)), workerFates(d, d.IntN(workload.MaxKills/2))},
		})
	})
}

func TestRepeatedAndLateDeliveriesChangeNothing(t *testing.T) {
	eachSeed(t, nil, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{plannerFates(d, d.IntN(3))},
			workers:  [][]fate{workerFates(d, d.IntN(workload.MaxKills/2))},
			repeats:  true,
		})
	})
}

func TestPlannersThatTakeOverFromEachOtherChangeNothing(t *testing.T) {
	eachSeed(t, nil, func(t *testing.T, seed uint64) occurred { // those whose clocks jump do too
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{plannerFates(d, d.Between(0, 3)), plannerFates(d, d.Between(1, 3))},
			workers:  [][]fate{workerFates(d, d.IntN(workload.MaxKills/2))},
		})
	})
}

func TestPlannersOnDamagedDisksChangeNothing(t *testing.T) {
	eachSeed(t, damagedDisks, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{planners: [][]fate{diskFates(d, d.Between(2, 5))}})
	})
}

func TestInputLogsThatBeginLaterLoseOnlyWhatIsTold(t *testing.T) {
	eachSeed(t, lostInputs, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{lossyFates(d, d.Between(2, 4))},
			losses:   true,
		})
	})
}

func TestRecordsOfStrangersChangeNothing(t *testing.T) {
	eachSeed(t, strangeRecords, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners:  [][]fate{plannerFates(d, d.IntN(3))},
			workers:   [][]fate{workerFates(d, d.IntN(2))},
			strangers: true,
		})
	})
}

func TestABadNetworkChangesNothing(t *testing.T) {
	eachSeed(t, badNetwork, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{plannerFates(d, d.IntN(2)), plannerFates(d, d.IntN(2))}[:d.Between(1, 2)],
			network:  10 << d.IntN(4),
		})
	})
}

func TestClocksThatJumpChangeNothing(t *testing.T) {
	eachSeed(t, wrongClocks, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		how := workload.Pick(d, near, far, far)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{clockFates(d, how, d.IntN(3)), clockFates(d, how, d.Between(1, 3))},
			clocks:   how,
		})
	})
}

func TestAllFaultsTogetherChangeNothing(t *testing.T) {
	eachSeed(t, nil, func(t *testing.T, seed uint64) occurred {
		d := workload.NewDice(seed)
		return equivalent(t, workload.NewPlan(seed), faultPlan{
			planners: [][]fate{diskFates(d, d.IntN(3)), lossyFates(d, d.IntN(3))},
			workers:  [][]fate{workerFates(d, d.IntN(2))},
			repeats:  true, losses: true, strangers: true, clocks: near, network: 40 << d.IntN(3),
		})
	})
}

// disturb begins the faults that are not of a process; the returned function
// ends them.
func (w *world) disturb(seed uint64) (end func()) {
	var ends []func()
	if w.faults.repeats {
		ends = append(ends, w.repeat(seed))
	}
	if w.faults.losses {
		ends = append(ends, w.lose(seed))
	}
	if w.faults.strangers {
		ends = append(ends, w.meddle(seed))
	}
	if w.faults.clocks != exact {
		ends = append(ends, w.skew(seed))
	}
	w.weather.worsen(w.faults.network)
	return func() {
		w.weather.worsen(0)
		for _, end := range ends {
			end()
		}
	}
}

// equivalent runs the plan undisturbed, then again under faults, and holds both
// against the oracle, against each other, and against what journal and stores
// say. It returns what has occurred.
func equivalent(t *testing.T, p *workload.Plan, f faultPlan) occurred {
	w := newWorld(t, p)
	w.start(f)
	if f.losses {
		defer w.operate()()
	}
	calm := w.driveAll(workload.Calmly)
	close(w.chaos)
	end := w.disturb(p.Seed)
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
		return newOccurred()
	}
	return w.audit()
}
