package sim

import (
	"testing"

	"github.com/heddle-run/heddle/internal/partition"
)

// flaws are the protections that are broken, one at a time, and within how many
// seeds a run must fail for it.
var flaws = []struct {
	name   string
	within uint64
	flaws  partition.Flaws
}{
	{"a ledger is not asked", 100, partition.Flaws{NoLedger: true}},
	{"effects leave before their record counts", 100, partition.Flaws{EarlyEffects: true}},
	{"void records are replayed", 200, partition.Flaws{LenientReplay: true}},
	{"a takeover is not read back", 200, partition.Flaws{NoReadBack: true}},
	{"a state is restored before the fence", 400, partition.Flaws{LateFence: true}},
	{"a stale store is used again", 700, partition.Flaws{AnyStore: true}},
	{"checkpoints are not fenced", 700, partition.Flaws{UnfencedCheckpoint: true}},
	{"positions are taken from committed offsets", 100, partition.Flaws{CommittedPositions: true}},
	{"nothing is released again", 100, partition.Flaws{NoRerelease: true}},
	{"timers are forgotten at recovery", 100, partition.Flaws{NoTimers: true}},
}

// This shows that the checkers can fail.
func TestEveryFlawIsNoticed(t *testing.T) {
	for _, f := range flaws {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= f.within; seed++ {
				o := options(seed)
				o.Flaws = f.flaws
				if r := Run(o); r.Err != nil {
					t.Logf("noticed with seed %d: %.300v", seed, r.Err)
					return
				}
			}
			t.Errorf("not noticed within %d seeds", f.within)
		})
	}
}
