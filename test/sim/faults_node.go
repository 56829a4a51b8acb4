package sim

import (
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/test/sim/disk"
)

// injector injects faults into processes, disks, clocks, workers and logs.
type injector struct{ *world }

// someNode is a planner that runs; nil if there is none.
func (w *injector) someNode(rng *rand.Rand) *node {
	var all []*node
	for _, n := range w.nodes {
		if n != nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}

// killNode kills a planner, now or in the middle of what it writes next; its disk
// keeps all, what was synced, that and a part of the rest, or nothing.
func (w *injector) killNode(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil {
		return
	}
	if rng.IntN(3) == 0 {
		p, seed := rng.IntN(len(w.owner)), rng.Uint64()
		n.fs.CrashWithin(storeDir(int32(p)), rng.IntN(4), seed)
		w.when(n.fs.Crashed, millis(rng, 0, 15_000), n.name+" dies, if it has written, within that", func() {
			if w.nodes[n.slot] == n {
				w.killed(n, rng)
			}
		})
		return
	}
	w.killed(n, rng)
}

// killed kills a planner, and starts it again later.
func (w *injector) killed(n *node, rng *rand.Rand) {
	w.kill(n, rng)
	w.at(millis(rng, 0, 9000), "a planner starts again", func() { w.restart(n.slot) })
	if rng.IntN(2) == 0 {
		w.at(sessionTimeout, "the group misses "+n.name, func() {
			if w.nodes[n.slot] == nil {
				w.members.expelled(n, rng)
			}
		})
	}
}

// mostAborts bounds how often processes end at the one mortal input of a run: three
// times for each planner, and again for each that has lost its disk meanwhile.
const mostAborts = 60

// buryAborted notices the processes that have ended by themselves, and starts them
// again. Their disks keep all that was written: no machine has ended.
func (w *injector) buryAborted() {
	for slot, n := range w.nodes {
		if n == nil || !n.hasAborted() {
			continue
		}
		w.note("%s has ended by itself", n.name)
		if w.aborts++; w.aborts > mostAborts {
			w.fail("processes have ended by themselves %d times", w.aborts)
		}
		w.disks[slot], w.nodes[slot] = n.fs.Copy(), nil
		n.kill()
		w.at(500*time.Millisecond, "a planner starts again", func() { w.restart(slot) })
	}
}

func (n *node) hasAborted() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.aborted
}

func (w *injector) kill(n *node, rng *rand.Rand) {
	left := disk.New()
	switch at := rng.IntN(5); {
	case n.fs.Crashed():
		var err error
		if left, err = n.fs.Torn(); err != nil {
			w.fail("a disk after a crash: %w", err)
		}
	case at == 0:
	case at < 3:
		left = n.fs.After(0, nil)
	default:
		left = n.fs.Copy()
	}
	w.disks[n.slot], w.nodes[n.slot] = left, nil
	n.kill()
}

// restart starts a planner that was killed.
func (w *injector) restart(slot int) {
	if w.nodes[slot] != nil {
		return
	}
	w.startNode(slot, w.disks[slot])
	for p, at := range w.owner {
		if at == slot {
			w.members.assign(int32(p), slot)
		}
	}
}

// freezeNode stops a planner for a while, and wakes it after others have taken
// over, or before.
func (w *injector) freezeNode(rng *rand.Rand) {
	if n := w.someNode(rng); n != nil {
		n.freeze()
		w.silence(n, rng, n.wake)
	}
}

// cutNode takes a planner's network away for a while.
func (w *injector) cutNode(rng *rand.Rand) {
	if n := w.someNode(rng); n != nil {
		n.cutOff = true
		w.tell(n.about(), "  %s has no network", n.name)
		w.silence(n, rng, func() { n.cutOff = false })
	}
}

// deafen lets an owner get nothing of an input log for a while, as if the log's
// leader were slow.
func (w *injector) deafen(rng *rand.Rand) {
	p := int32(rng.IntN(len(w.owner)))
	n := w.nodes[w.owner[p]]
	if n == nil {
		return
	}
	topic := w.c.names.Inbox()
	if rng.IntN(4) == 0 {
		topic = w.c.names.Commands()
	}
	from := place{topic, p}
	n.listen(from, false)
	w.tell(n.aboutPartition(p), "  %s gets nothing of %s", n.name, from)
	w.at(millis(rng, 500, 15_000), n.name+" reads again", func() { n.listen(from, true) })
}

func (w *injector) silence(n *node, rng *rand.Rand, end func()) {
	lasts := millis(rng, 100, 20_000)
	if lasts > sessionTimeout {
		w.at(sessionTimeout, "the group misses "+n.name, func() {
			if w.nodes[n.slot] == n && n.silent() {
				w.members.expelled(n, rng)
			}
		})
	}
	w.at(lasts, n.name+" is back", func() {
		end()
		w.back(n, millis(rng, 0, 4000))
	})
}

// back lets a planner that was silent learn, a little later, what the group did.
func (w *injector) back(n *node, after time.Duration) {
	if w.nodes[n.slot] != n {
		return
	}
	for p, slot := range w.owner {
		if slot != n.slot && n.owners[int32(p)] != nil {
			w.members.loseLater(n, int32(p), after)
		}
	}
	w.at(after, n.name+" hears from the group", func() {
		if w.nodes[n.slot] == n {
			n.learn(w.c.group.generation)
		}
	})
}

// skewClock sets a planner's clock off, or right again.
func (w *injector) skewClock(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil {
		return
	}
	skew := time.Duration(0)
	margin := int(w.settings().Complete().Margin / time.Millisecond)
	switch rng.IntN(4) {
	case 0, 1:
		skew = millis(rng, -margin/2, margin/2)
	case 2:
		for p := range w.owner {
			w.audit.doubt(int32(p))
		}
		skew = millis(rng, -5*margin, 5*margin)
	}
	w.setClock(n, skew)
}

// setClock sets a planner's clock. One that is far behind is set right while the
// planner is down: see leapClock.
func (w *injector) setClock(n *node, skew time.Duration) {
	if n.farBehind() {
		w.putDown(n)
		w.skews[n.slot] = skew
		w.at(time.Millisecond, "a planner starts again", func() { w.restart(n.slot) })
		return
	}
	n.mu.Lock()
	n.setSkew(skew)
	n.mu.Unlock()
	w.skews[n.slot] = skew
	w.tell(n.about(), "  the clock of %s is off by %v", n.name, skew)
}

func (n *node) farBehind() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.skew <= -time.Hour
}

// putDown kills a planner whose disk keeps all.
func (w *injector) putDown(n *node) {
	w.disks[n.slot], w.nodes[n.slot] = n.fs.Copy(), nil
	n.kill()
}

// leapClock sets a planner's clock off by hours, and right again. Ahead it goes
// while the planner runs. Behind it is when the planner starts: one that runs has
// its monotonic clock, which no jump sets back, and the one here jumps with it.
func (w *injector) leapClock(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil {
		return
	}
	far := millis(rng, 3_600_000, 30*3_600_000)
	if rng.IntN(2) == 0 {
		w.setClock(n, far)
	} else {
		for p := range w.owner {
			w.audit.doubt(int32(p))
		}
		w.kill(n, rng)
		w.skews[n.slot] = -far
		w.at(millis(rng, 0, 3000), "a planner starts again", func() { w.restart(n.slot) })
	}
	w.at(millis(rng, 500, 15_000), "the clock of "+slotName(n.slot)+" is right again", func() {
		if now := w.nodes[n.slot]; now != nil {
			w.setClock(now, 0)
		}
		w.skews[n.slot] = 0
	})
}

// killWorker kills a worker; what it ran is forgotten. Sometimes it dies when only
// it knows of what it runs: no other will be given that.
func (w *injector) killWorker(rng *rand.Rand) {
	if w.kills++; w.kills > 3 {
		return
	}
	slot := rng.IntN(len(w.workers))
	if rng.IntN(2) == 0 {
		w.startWorker(slot)
		return
	}
	w.when(func() bool { return w.workers[slot].guards() }, 5*time.Second, "a worker dies at its work", func() { w.startWorker(slot) })
}

// swapDisk kills a planner and starts it on an older state of its disk.
func (w *injector) swapDisk(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil {
		return
	}
	old := n.fs.Copy()
	w.at(millis(rng, 500, 15_000), n.name+" dies, and its disk is an older one", func() {
		now := w.nodes[n.slot]
		if now == nil {
			return
		}
		w.nodes[n.slot] = nil
		now.kill()
		w.disks[n.slot] = old
		w.at(millis(rng, 0, 3000), "a planner starts again", func() { w.restart(n.slot) })
	})
}

// leaveNode ends a planner in order and starts it again, as an upgrade does. Its
// disk may have rotted meanwhile: it holds far more than that of a killed one.
func (w *injector) leaveNode(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil || n.silent() {
		return
	}
	w.tell(n.about(), "  %s leaves", n.name)
	w.nodes[n.slot] = nil
	n.leave()
	if rng.IntN(2) == 0 {
		w.members.expelled(n, rng)
	}
	rots := rng.IntN(3) == 0
	var again func()
	again = func() {
		if !w.audit.allEnded() {
			w.at(50*time.Millisecond, "start again", again)
			return
		}
		if rots && w.nodes[n.slot] == nil {
			w.rot(n.slot, rng)
		}
		w.restart(n.slot)
	}
	w.at(millis(rng, 50, 3000), "a planner starts again", again)
}

// rotDisk kills a planner and changes bytes on its disk.
func (w *injector) rotDisk(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil {
		return
	}
	w.disks[n.slot] = n.fs.Copy()
	w.rot(n.slot, rng)
	w.nodes[n.slot] = nil
	n.kill()
	w.at(millis(rng, 0, 3000), "a planner starts again", func() { w.restart(n.slot) })
}

// rot changes bytes on a disk: the beginnings of many files, one bit of one file,
// or its end.
func (w *injector) rot(slot int, rng *rand.Rand) {
	left := w.disks[slot]
	var err error
	switch rng.IntN(6) {
	case 0, 1:
		_, err = left.Flip(rng)
	case 2, 3:
		_, err = left.Cut(rng)
	case 4:
		err = left.Rot(true)
	case 5:
		err = left.Rot(false)
	}
	if err != nil {
		w.fail("rotting a disk: %w", err)
	}
	w.tell(Subject{Planner: slotName(slot)}, "  the disk of %s rots", slotName(slot))
}

// fillDisk fills the disk of a planner that runs, or lets one find a new disk
// full when it starts; later there is room.
func (w *injector) fillDisk(rng *rand.Rand) {
	n := w.someNode(rng)
	if n == nil {
		return
	}
	fs := n.fs
	if rng.IntN(3) == 0 {
		w.nodes[n.slot] = nil
		n.kill()
		fs = disk.New()
		w.disks[n.slot] = fs
		w.at(time.Millisecond, "a planner starts on a full disk", func() { w.restart(n.slot) }) // not while the old process ends
	}
	fs.Fill()
	w.filled = append(w.filled, fs)
	w.tell(n.about(), "  the disk of %s is full", slotName(n.slot))
	w.at(millis(rng, 500, 5000), "there is room on the disk of "+slotName(n.slot)+" again", fs.Free)
}
