package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// sessionTimeout is when the group gives away what a silent member had.
const sessionTimeout = 6 * time.Second

// assign gives a partition to a planner, as far as the group can.
func (w *world) assign(p int32, slot int) {
	w.owner[p] = slot
	w.tell(Subject{Partition: partitionName(p), Planner: slotName(slot)}, "  the group gives %s to %s", partitionName(p), slotName(slot))
	w.c.mu.Lock()
	w.c.group.generation++
	generation := w.c.group.generation
	w.c.mu.Unlock()
	for _, n := range w.nodes {
		if n != nil && !n.silent() {
			n.learn(generation)
		}
	}
	w.claim(p, slot)
}

// claim lets a planner own what the group gave it, once an older claim of the
// same process has ended.
func (w *world) claim(p int32, slot int) {
	n := w.nodes[slot]
	if n == nil || n.away || w.owner[p] != slot || n.owners[p] != nil {
		return
	}
	if n.leaving(p) {
		w.at(50*time.Millisecond, "claim again", func() { w.claim(p, slot) })
		return
	}
	n.own(p)
}

// other is a planner that can be given something, but not the one in a slot
// unless there is no other.
func (w *world) other(rng *rand.Rand, slot int) int {
	var all []int
	for i, n := range w.nodes {
		if n != nil && i != slot && !n.silent() && !n.away {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return slot
	}
	return all[rng.IntN(len(all))]
}

// movePartition is a rebalance: in order, or with an owner that learns late that
// it is none any more, or back to where it was.
func (w *world) movePartition(rng *rand.Rand) {
	p := int32(rng.IntN(len(w.owner)))
	from := w.owner[p]
	to := w.other(rng, from)
	old := w.nodes[from]
	switch {
	case old == nil:
		w.assign(p, to)
	case to == from || rng.IntN(5) == 0: // it leaves and joins again
		old.lose(p)
		w.assign(p, from)
	case rng.IntN(2) == 0:
		old.revoke(p)
		w.at(millis(rng, 0, 5000), "the group moves on", func() { w.assign(p, to) })
	default:
		w.assign(p, to)
		w.loseLater(old, p, late(rng))
	}
}

// late is how late an owner learns that it is none any more.
func late(rng *rand.Rand) time.Duration {
	if rng.IntN(3) == 0 {
		return millis(rng, 0, 30_000)
	}
	return millis(rng, 0, 8000)
}

// releasePartition is an operator who says that a lease does not hold, while
// its owner lives on: another one obeys at once.
func (w *world) releasePartition(rng *rand.Rand) {
	p := int32(rng.IntN(len(w.owner)))
	w.doubt(p)
	from := w.owner[p]
	to := w.other(rng, from)
	if old := w.nodes[from]; old != nil && to != from {
		w.assign(p, to)
		w.loseLater(old, p, late(rng))
		if rng.IntN(2) == 0 { // and back again
			w.at(millis(rng, 1000, 9000), "the group gives it back", func() { w.assign(p, from) })
		}
	}
	w.operator("force_release", p, millis(rng, 0, 1500), map[string]any{"by": "an operator", "why": "to see what happens"})
}

// operator lets an operator command a partition some time later.
func (w *world) operator(name string, p int32, after time.Duration, body map[string]any) {
	w.orders++
	id := fmt.Sprintf("order-%d", w.orders)
	w.soon(after, func(ctx context.Context) error {
		_, err := w.caller(id).command(ctx, name, events.PartitionWorkflow(p), id, body)
		return err
	})
}

// loseLater tells a planner some time later that a partition is not its any more.
func (w *world) loseLater(n *node, p int32, after time.Duration) {
	o := n.owners[p]
	w.at(after, n.name+" learns that "+partitionName(p)+" is lost", func() {
		if w.nodes[n.slot] == n && n.owners[p] == o && w.owner[p] != n.slot {
			n.lose(p)
		}
	})
}

// expelled is what the group does about a member that has been silent too long.
func (w *world) expelled(n *node, rng *rand.Rand) {
	for p, slot := range w.owner {
		if slot == n.slot {
			w.assign(int32(p), w.other(rng, slot))
		}
	}
}

func millis(rng *rand.Rand, lo, hi int) time.Duration {
	return time.Duration(lo+rng.IntN(hi-lo+1)) * time.Millisecond
}
