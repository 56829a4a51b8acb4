package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// words is the fault of operators who command a partition at a bad moment: while it is taken over or
// recovers, has no owner, or reads again already.
const words = "words"

// drawWords draws them, for some seeds, from dice of their own: what seeds do without them stays as it is.
func (o *Options) drawWords() []Fault {
	if len(o.Kinds) > 0 && !slices.Contains(o.Kinds, words) {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x776f726473))
	if len(o.Kinds) == 0 && rng.IntN(3) > 0 { // whose partition was released by force is audited with doubt
		return nil
	}
	var all []Fault
	for range 4 + rng.IntN(8) {
		all = append(all, Fault{rng.IntN(o.Steps), words, rng.Uint64()})
	}
	return all
}

// giveWords lets operators command a partition a few times, soon after one another.
func (ms *members) giveWords(rng *rand.Rand) {
	p := int32(rng.IntN(len(ms.owner)))
	if rng.IntN(2) == 0 { // it changes hands meanwhile
		ms.movePartition(rng)
	}
	for range 1 + rng.IntN(4) {
		body := map[string]any{"by": "an operator", "why": "to see what happens"}
		name := "checkpoint"
		switch rng.IntN(6) {
		case 0:
			name = "force_release"
			ms.audit.doubt(p)
		case 1:
			name = "mark_stale"
			body["reason"] = "odd"
		case 2, 3:
			name = "request_replay"
			body["cursor"] = fmt.Sprintf("%s@%d", []string{"commands", "inbox"}[rng.IntN(2)], rng.IntN(40)) // refused where it lies ahead
		case 4:
			name = "request_replay"
		}
		ms.operator(name, p, millis(rng, 0, 4000), body)
	}
}
