package sim

import (
	"testing"

	"github.com/heddle-run/heddle/internal/partition"
)

type flaw struct {
	name   string
	within uint64
	flaws  partition.Flaws
	kinds  []string // of faults that show it; nil: all
}

// flaws are the protections that are broken, one at a time, and within how many
// seeds a run must fail for it, over the model of Kafka as over the embedded broker.
// Where only some kinds of faults are named, others end most reigns before the flaw
// matters.
var flaws = []flaw{
	{"a ledger is not asked", 100, partition.Flaws{NoLedger: true}, nil},
	{"what the ledger has forgotten is decided again", 40, partition.Flaws{NoWindow: true}, nil},
	{"effects leave before their record counts", 100, partition.Flaws{EarlyEffects: true}, nil},
	{"queries are answered at once", 10, partition.Flaws{EarlyAnswers: true}, nil},
	{"queries are answered before commands are read", 20, partition.Flaws{UnreadAnswers: true}, nil},
	{"void records are replayed", 200, partition.Flaws{LenientReplay: true}, nil},
	{"a takeover is not read back", 20, partition.Flaws{NoReadBack: true}, []string{"coup", "move"}},
	{"a state is restored before the fence", 200, partition.Flaws{LateFence: true}, []string{"move"}},
	{"a stale store is used again", 40, partition.Flaws{AnyStore: true}, []string{"leave", "coup"}},
	{"positions are taken from committed offsets", 100, partition.Flaws{CommittedPositions: true}, nil},
	{"nothing is released again", 100, partition.Flaws{NoRerelease: true}, nil},
	{"timers are forgotten at recovery", 100, partition.Flaws{NoTimers: true}, nil},
	{"what is dirty is forgotten", 20, partition.Flaws{ForgetDirty: true}, []string{"move"}},
	{"clocks are not compared", 60, partition.Flaws{NoClock: true}, []string{"skew", "leap", "move", "kill"}},
	{"timeouts do not wait for the inputs", 160, partition.Flaws{HastyTimers: true}, []string{"deaf", "freeze"}},
	{"the lease is not looked at", 60, partition.Flaws{NoLease: true}, nil},
	{"what is sent later does not look at the lease", 40, partition.Flaws{LateEffects: true}, []string{"effect", "freeze"}},
	{"checkpoints are not fenced", 40, partition.Flaws{UnfencedCheckpoint: true}, []string{"coup", "wipe", "move"}},
}

// This shows that the checkers can fail.
func TestEveryFlawIsNoticed(t *testing.T) { noticed(t, options) }

func TestEveryFlawIsNoticedOverTheEmbeddedBroker(t *testing.T) { noticed(t, onBroker) }

func noticed(t *testing.T, options func(uint64) Options) {
	for _, f := range flaws {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= f.within; seed++ {
				o := options(seed)
				o.Flaws, o.Kinds = f.flaws, f.kinds
				if f.kinds != nil {
					o.Steps *= 2
				}
				if r := Run(o); r.Err != nil {
					o.Flaws = partition.Flaws{}
					if sound := Run(o); sound.Err != nil {
						t.Errorf("seed %d fails without the flaw: %v", seed, sound.Err)
					}
					t.Logf("noticed with seed %d: %.300v", seed, r.Err)
					return
				}
			}
			t.Errorf("not noticed within %d seeds", f.within)
		})
	}
}
