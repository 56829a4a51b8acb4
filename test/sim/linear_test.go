package sim

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
)

// recorded are the histories of a seed's run.
func recorded(seed uint64) (h map[string]calls.History) {
	bubble(func() {
		o := options(seed)
		h = play(&o).audit.histories()
	})
	return h
}

// A recorded history of a sound run is lawful, and is not any more when one of
// its answers is exchanged for that of another life.
func TestADoctoredHistoryIsRefused(t *testing.T) {
	doctored := 0
	for seed := uint64(1); seed <= 12; seed++ {
		all := recorded(seed)
		for _, id := range sortedKeys(all) {
			h := all[id]
			for i, c := range h {
				if c.What != "pause" && c.What != "stop" || c.Reply.Result != events.ResultDone {
					continue
				}
				other := *c
				other.Reply.Body = []byte(`{"run":"999.1","status":"paused","position":"999.2"}`)
				if doctored++; h.With(i, other).Check() == nil {
					t.Errorf("seed %d: a %s of %s that tells of another run is taken for lawful", seed, c.What, id)
				}
			}
		}
	}
	if doctored == 0 {
		t.Error("no seed pauses or stops anything")
	}
}
