package sim

import (
	"math/rand/v2"
	"testing/synctest"
	"time"
)

// calmDown ends all faults: every planner runs, is heard, and knows what the
// group gave it.
func (w *world) calmDown() {
	synctest.Wait()
	w.calm = true
	w.note("no more faults")
	w.later = nil
	w.c.absence.until = time.Time{}
	w.c.looked = nil
	w.setBrokers()
	w.watchLosses()
	for _, fs := range w.filled { // also those of processes that end: they would try for ever
		fs.Free()
	}
	w.audit.until("the members that leave have left", w.audit.allEnded)
	w.archiving.calmDown()
	w.pooling.calmDown()
	rng := rand.New(rand.NewPCG(w.o.Seed, 2))
	for slot, n := range w.nodes {
		w.skews[slot] = 0
		if n != nil && n.farBehind() {
			w.injector.putDown(n)
			n = nil
		}
		if n == nil {
			w.disks[slot].Free()
			w.startNode(slot, w.disks[slot])
			continue
		}
		n.fs.Free()
		n.cutOff = false
		n.hear()
		n.mu.Lock()
		n.setSkew(0)
		n.mu.Unlock()
		n.wake()
	}
	for p, slot := range w.owner {
		for at, n := range w.nodes {
			if at != slot && n.owners[int32(p)] != nil {
				w.members.loseLater(n, int32(p), millis(rng, 0, 3000))
			}
		}
		w.members.assign(int32(p), slot)
	}
}
