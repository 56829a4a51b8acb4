package sim

import (
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/test/sim/disk"
)

// stageCoups begins the coups whose moment has come: an owner has appended
// something that is still on its way.
func (w *world) stageCoups() {
	if len(w.coups) == 0 {
		return
	}
	synctest.Wait()
	w.c.mu.Lock()
	s := w.injector.someStream(w.coups[0], func(s *stream) bool {
		return s.journal != nil && s.next() != nil && !s.owner.dead && !s.owner.silent()
	})
	w.c.mu.Unlock()
	if s == nil {
		return
	}
	for p, slot := range w.owner {
		if slot == s.owner.slot && strings.Contains(s.name, "/"+partitionName(int32(p))+"/") {
			w.note("a coup in %s of %s", partitionName(int32(p)), s.owner.name)
			w.coup(s.owner, int32(p), w.coups[0])
			w.coups = w.coups[1:]
			return
		}
	}
}

// coup lets another planner take a partition over, by an operator's word, from an
// owner that is alive, whose lease has not run out, and whose appends arrive
// late: they are void, and acknowledged. Once it is deposed it is back, a member
// of the group like all, and does not know yet: the operator's word reaches it
// late too.
func (w *world) coup(old *node, p int32, rng *rand.Rand) {
	to := w.members.other(rng, old.slot)
	if to == old.slot {
		return
	}
	w.audit.doubt(p)
	old.cutOff = true
	deposed := w.committed(p, 1)
	w.when(deposed, millis(rng, 300, 4000), old.name+" is back", func() {
		old.cutOff = false
		old.learn(w.c.group.generation)
	})
	w.members.assign(p, to)
	w.members.operator("force_release", p, 0, map[string]any{"by": "an operator", "why": "to see what happens"})
	old.listen(place{w.c.names.Commands(), p}, false)
	w.at(late(rng), old.name+" hears again", func() { old.listen(place{w.c.names.Commands(), p}, true) })
	w.members.loseLater(old, p, late(rng))
	switch rng.IntN(3) {
	case 0:
		w.at(millis(rng, 1500, 9000), "the group gives it back", func() { w.members.assign(p, old.slot) })
	case 1: // what is left is what the last checkpoint says, whichever owner wrote it
		w.when(w.committed(p, 2+rng.IntN(6)), millis(rng, 1500, 6000), "the usurper loses its disk", func() { w.wipe(to, time.Second) })
	}
}

// listen lets a process read a log, or nothing of it: its leader does not answer.
func (n *node) listen(at place, hears bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.deaf[at] = !hears
}

// hear lets a process read everything.
func (n *node) hear() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	clear(n.deaf)
}

// committed is when so many more transactions of a partition are committed:
// takeovers and checkpoints.
func (w *world) committed(p int32, more int) func() bool {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	id := w.c.names.PlannerTxn(p)
	enough := w.c.commits[id] + more
	return func() bool { return w.c.commits[id] >= enough } // only the scheduler commits
}

// wipe kills a planner and starts it some time later on an empty disk.
func (w *world) wipe(slot int, down time.Duration) {
	n := w.nodes[slot]
	if n == nil {
		return
	}
	w.disks[slot], w.nodes[slot] = disk.New(), nil
	n.kill()
	w.at(down, "a planner starts again", func() { w.injector.restart(slot) })
}
