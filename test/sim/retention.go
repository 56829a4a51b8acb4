package sim

import (
	"math/rand/v2"
	"slices"
)

// retention is the fault of input logs that are trimmed while somebody looks at them.
const retention = "retention"

// drawRetention draws it, for some seeds, from dice of its own.
func (o *Options) drawRetention() []Fault {
	if len(o.Kinds) > 0 && !slices.Contains(o.Kinds, retention) {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x726574656e74))
	if len(o.Kinds) == 0 && rng.IntN(4) > 0 {
		return nil
	}
	var all []Fault
	for range 1 + rng.IntN(4) {
		all = append(all, Fault{rng.IntN(o.Steps), retention, rng.Uint64()})
	}
	return all
}

// awaitLook lets retention trim the logs of an input topic right behind the back of
// those who ask next where they begin.
func (w *world) awaitLook(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	topic := w.injector.someInput(rng).topic
	looks := 1 + rng.IntN(4)
	w.c.looked = func(at string) {
		if at != topic {
			return
		}
		for p := range w.c.partitions {
			w.injector.expire(rng, place{topic, p})
		}
		if looks--; looks == 0 {
			w.c.looked = nil
		}
	}
}
