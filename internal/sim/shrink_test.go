package sim

import (
	"testing"

	"github.com/heddle-run/heddle/internal/partition"
)

// What a failing seed prints is a run that fails too, with no more faults.
func TestAShrunkRunStillFails(t *testing.T) {
	for seed := uint64(1); seed < 40; seed++ {
		o := options(seed)
		o.Flaws = partition.Flaws{CommittedPositions: true}
		whole := Run(o)
		if whole.Err == nil || len(whole.Faults) < 5 {
			continue
		}
		small := Shrink(t.Context(), o)
		if small.Err == nil || len(small.Faults) >= len(whole.Faults) || len(small.History) == 0 {
			t.Errorf("seed %d: %d faults became %d, and the run ends with %v", seed, len(whole.Faults), len(small.Faults), small.Err)
		}
		return
	}
	t.Error("no seed fails")
}
