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

// members are those of the planners' group: who is given which partition.
type members struct{ *world }

// assign gives a partition to a planner, as far as the group can.
func (ms *members) assign(p int32, slot int) {
	ms.owner[p] = slot
	ms.tell(Subject{Partition: partitionName(p), Planner: slotName(slot)}, "  the group gives %s to %s", partitionName(p), slotName(slot))
	ms.c.mu.Lock()
	ms.c.group.generation++
	generation := ms.c.group.generation
	ms.c.mu.Unlock()
	for _, n := range ms.nodes {
		if n != nil && !n.silent() {
			n.learn(generation)
		}
	}
	ms.claim(p, slot)
}

// claim lets a planner own what the group gave it, once an older claim of the
// same process has ended.
func (ms *members) claim(p int32, slot int) {
	n := ms.nodes[slot]
	if n == nil || n.away || ms.owner[p] != slot || n.owners[p] != nil {
		return
	}
	if n.leaving(p) {
		ms.at(50*time.Millisecond, "claim again", func() { ms.claim(p, slot) })
		return
	}
	n.own(p)
}

// other is a planner that can be given something, but not the one in a slot
// unless there is no other.
func (ms *members) other(rng *rand.Rand, slot int) int {
	var all []int
	for i, n := range ms.nodes {
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
func (ms *members) movePartition(rng *rand.Rand) {
	p := int32(rng.IntN(len(ms.owner)))
	from := ms.owner[p]
	to := ms.other(rng, from)
	old := ms.nodes[from]
	switch {
	case old == nil:
		ms.assign(p, to)
	case to == from || rng.IntN(5) == 0: // it leaves and joins again
		old.lose(p)
		ms.assign(p, from)
	case rng.IntN(2) == 0:
		old.revoke(p)
		ms.at(millis(rng, 0, 5000), "the group moves on", func() { ms.assign(p, to) })
	default:
		ms.assign(p, to)
		ms.loseLater(old, p, late(rng))
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
func (ms *members) releasePartition(rng *rand.Rand) {
	p := int32(rng.IntN(len(ms.owner)))
	ms.audit.doubt(p)
	from := ms.owner[p]
	to := ms.other(rng, from)
	if old := ms.nodes[from]; old != nil && to != from {
		ms.assign(p, to)
		ms.loseLater(old, p, late(rng))
		if rng.IntN(2) == 0 { // and back again
			ms.at(millis(rng, 1000, 9000), "the group gives it back", func() { ms.assign(p, from) })
		}
	}
	ms.operator("force_release", p, millis(rng, 0, 1500), map[string]any{"by": "an operator", "why": "to see what happens"})
}

// operator lets an operator command a partition some time later.
func (ms *members) operator(name string, p int32, after time.Duration, body map[string]any) {
	ms.orders++
	id := fmt.Sprintf("order-%d", ms.orders)
	ms.soon(after, func(ctx context.Context) error {
		_, err := ms.caller(id).command(ctx, name, events.PartitionWorkflow(p), id, body)
		return err
	})
}

// loseLater tells a planner some time later that a partition is not its any more.
func (ms *members) loseLater(n *node, p int32, after time.Duration) {
	o := n.owners[p]
	ms.at(after, n.name+" learns that "+partitionName(p)+" is lost", func() {
		if ms.nodes[n.slot] == n && n.owners[p] == o && ms.owner[p] != n.slot {
			n.lose(p)
		}
	})
}

// expelled is what the group does about a member that has been silent too long.
func (ms *members) expelled(n *node, rng *rand.Rand) {
	for p, slot := range ms.owner {
		if slot == n.slot {
			ms.assign(int32(p), ms.other(rng, slot))
		}
	}
}

func millis(rng *rand.Rand, lo, hi int) time.Duration {
	return time.Duration(lo+rng.IntN(hi-lo+1)) * time.Millisecond
}
