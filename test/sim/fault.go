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
	model  bool // the embedded broker cannot have it
}

// faultKinds are all kinds with how they are done, and their weights.
var faultKinds = []faultKind{
	{"kill", 6, byFaults((*injector).killNode), false},
	{"freeze", 5, byFaults((*injector).freezeNode), false},
	{"cut", 4, byFaults((*injector).cutNode), false},
	{"leave", 3, byFaults((*injector).leaveNode), false},
	{"deaf", 2, byFaults((*injector).deafen), false},
	{"move", 8, byGroup((*members).movePartition), false},
	{"wipe", 1, func(w *world, rng *rand.Rand) { w.wipe(rng.IntN(len(w.nodes)), millis(rng, 0, 4000)) }, false},
	{"coup", 6, func(w *world, rng *rand.Rand) { w.coups = append(w.coups, rng) }, false},
	{"release", 5, byGroup((*members).releasePartition), false},
	{"skew", 2, byFaults((*injector).skewClock), false},
	{"leap", 2, byFaults((*injector).leapClock), false},
	{"append", 3, byFaults((*injector).failAppend), false},
	{"effect", 4, byFaults((*injector).failEffect), false},
	{"reply", 2, byFaults((*injector).loseReply), false},
	{"repeat", 6, byFaults((*injector).repeatInput), false},
	{"truncate", 2, byFaults((*injector).truncateInput), true},
	{"foreign", 2, byFaults((*injector).foreignTxn), false},
	{"remake", 1, byFaults((*injector).remakeInput), false},
	{"expire", 2, byFaults((*injector).expireInput), false},
	{"abort", 3, byFaults((*injector).abortTxn), false},
	{"poison", 4, byFaults((*injector).poisonInput), false},
	{"stray", 4, (*world).strayInput, false},
	{"worker", 3, byFaults((*injector).killWorker), false},
	{"swap", 2, byFaults((*injector).swapDisk), false},
	{"rot", 2, byFaults((*injector).rotDisk), false},
	{"full", 1, byFaults((*injector).fillDisk), false},
	{"offsets", 3, (*world).moveOffsets, false},
	{absent, 2, (*world).missCoordinator, false},
	{wrongStamps, 0, (*world).missetBroker, true},          // drawStamps draws it
	{lasting, 0, byGroup((*members).lastingReason), false}, // drawLasting draws it
	{retention, 0, (*world).awaitLook, false},              // drawRetention draws it
	{words, 0, byGroup((*members).giveWords), false},       // drawWords draws it
	{troubles, 0, (*world).trouble, false},                 // drawTroubles draws it
}

func byFaults(do func(*injector, *rand.Rand)) func(*world, *rand.Rand) {
	return func(w *world, rng *rand.Rand) { do(&w.injector, rng) }
}

func byGroup(do func(*members, *rand.Rand)) func(*world, *rand.Rand) {
	return func(w *world, rng *rand.Rand) { do(&w.members, rng) }
}

// drawFaults draws the faults of a seed, of all kinds that there can be or of some.
func (o *Options) drawFaults() []Fault {
	rng := rand.New(rand.NewPCG(o.Seed, 0x6661756c7473))
	among := slices.DeleteFunc(slices.Clone(faultKinds), func(k faultKind) bool {
		return k.model && o.Embedded || len(o.Kinds) > 0 && !slices.Contains(o.Kinds, k.name)
	})
	total := 0
	for _, k := range among {
		total += k.weight
	}
	every := 15 << rng.IntN(4) // steps between two of them
	if len(o.Kinds) > 0 {
		every = 60
	}
	all := []Fault{}
	for range o.Steps / every {
		if total == 0 {
			break
		}
		at := rng.IntN(total)
		for _, k := range among {
			if at -= k.weight; at < 0 {
				all = append(all, Fault{rng.IntN(o.Steps), k.name, rng.Uint64()})
				break
			}
		}
	}
	all = slices.Concat(all, o.drawStamps(), o.drawLasting(), o.drawRetention(), o.drawWords(), o.drawTroubles())
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
		if f.Kind != absent {
			w.others++
		}
		for _, k := range faultKinds {
			if k.name == f.Kind {
				k.do(w, rand.New(rand.NewPCG(f.Arg, 1)))
			}
		}
	}
}
