package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing/synctest"
)

// Fault is something bad that happens before a step of a run.
type Fault struct {
	Step int
	Kind string
	Arg  uint64 // seeds what is left to chance about it
}

func (f Fault) String() string { return fmt.Sprintf("%d:%s:%x", f.Step, f.Kind, f.Arg) }

type faultKind struct {
	name   string
	weight int
	do     func(*world, *rand.Rand)
}

// faultKinds are all kinds with how they are done, and their weights.
var faultKinds = []faultKind{
	{"kill", 6, (*world).killNode},
	{"freeze", 5, (*world).freezeNode},
	{"cut", 4, (*world).cutNode},
	{"leave", 3, (*world).leaveNode},
	{"deaf", 2, (*world).deafen},
	{"move", 8, (*world).movePartition},
	{"wipe", 1, func(w *world, rng *rand.Rand) { w.wipe(rng.IntN(len(w.nodes)), millis(rng, 0, 4000)) }},
	{"coup", 6, func(w *world, rng *rand.Rand) { w.coups = append(w.coups, rng) }},
	{"release", 5, (*world).releasePartition},
	{"skew", 2, (*world).skewClock},
	{"leap", 2, (*world).leapClock},
	{"append", 3, (*world).failAppend},
	{"effect", 4, (*world).failEffect},
	{"reply", 2, (*world).loseReply},
	{"repeat", 6, (*world).repeatInput},
	{"truncate", 2, (*world).truncateInput},
	{"expire", 2, (*world).expireInput},
	{"abort", 3, (*world).abortTxn},
	{"poison", 4, (*world).poisonInput},
	{"taker", 3, (*world).killTaker},
	{"swap", 2, (*world).swapDisk},
	{"rot", 2, (*world).rotDisk},
	{"full", 1, (*world).fillDisk},
}

// drawFaults draws the faults of a seed, of all kinds or of some.
func drawFaults(seed uint64, steps int, kinds []string) []Fault {
	rng := rand.New(rand.NewPCG(seed, 0x6661756c7473))
	among := faultKinds
	if len(kinds) > 0 {
		among = slices.DeleteFunc(slices.Clone(faultKinds), func(k faultKind) bool { return !slices.Contains(kinds, k.name) })
	}
	total := 0
	for _, k := range among {
		total += k.weight
	}
	every := 15 << rng.IntN(4) // steps between two of them
	if len(kinds) > 0 {
		every = 60
	}
	all := []Fault{}
	for range steps / every {
		at := rng.IntN(total)
		for _, k := range among {
			if at -= k.weight; at < 0 {
				all = append(all, Fault{rng.IntN(steps), k.name, rng.Uint64()})
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return cmp.Compare(a.Step, b.Step) })
	return all
}

// inject does the faults of this step.
func (w *world) inject() {
	w.stageCoups()
	for len(w.o.Faults) > 0 && w.o.Faults[0].Step <= w.step {
		synctest.Wait()
		f := w.o.Faults[0]
		w.o.Faults = w.o.Faults[1:]
		w.note("fault %s", f)
		for _, k := range faultKinds {
			if k.name == f.Kind {
				k.do(w, rand.New(rand.NewPCG(f.Arg, 1)))
			}
		}
	}
}
