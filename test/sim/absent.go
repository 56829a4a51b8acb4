package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// absent is the fault that leaves owners in peace, but for their coordinator.
const absent = "absent"

// absence is a time in which the planners' group has no coordinator. Nobody takes
// positions then, and owners keep their leases all the same (C4). The cluster's lock
// guards what the cluster asks.
type absence struct {
	until    time.Time
	renewals map[int32]int // of leases, by partition, ever
}

// away reports whether the coordinator is away.
func (a *absence) away() bool { return time.Now().Before(a.until) }

// renewed notes the leases that a committed transaction renews.
func (a *absence) renewed(authority string, records []*kgo.Record) {
	for _, rec := range records {
		if rec.Topic == authority {
			a.renewals[rec.Partition]++
		}
	}
}

// longLease is one that lasts however long the scheduler lets an owner wait for what
// it asks. A shorter one may run out by that alone.
const longLease = 10 * time.Second

// missCoordinator takes the coordinator of the planners' group away for as long as a
// broker takes to start again.
func (w *world) missCoordinator(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.absence.away() {
		return
	}
	lasts := millis(rng, 7000, 10_000)
	w.c.absence.until = time.Now().Add(lasts)
	w.note("  the group has no coordinator for %v", lasts)
	if !w.peaceful() {
		return
	}
	before, others, aborts := w.tenures(), w.others, w.aborts
	w.at(lasts, "the coordinator is back", func() {
		if w.others == others && w.aborts == aborts {
			w.auditAbsence(before, lasts)
		}
	})
}

// peaceful reports whether no other fault lasts, so that all owners can do what they
// have to.
func (w *world) peaceful() bool {
	return len(w.later) == 0 && len(w.coups) == 0 && w.orders == 0 && w.audit.owned() &&
		!slices.ContainsFunc(w.skews, func(d time.Duration) bool { return d != 0 })
}

// tenure is what an absence finds of a partition.
type tenure struct {
	epoch    uint64
	renewals int
}

// tenures are those of all partitions, by what their owners say.
func (w *world) tenures() []tenure {
	all := make([]tenure, len(w.owner))
	for p, slot := range w.owner {
		all[p] = tenure{w.nodes[slot].owners[int32(p)].Status().Epoch, w.c.absence.renewals[int32(p)]}
	}
	return all
}

// auditAbsence holds that owners in peace have renewed their leases while the group
// had no coordinator, where that was long enough, and that none ran out.
func (w *world) auditAbsence(before []tenure, lasted time.Duration) {
	for p, now := range w.tenures() {
		switch {
		case now.renewals == before[p].renewals && lasted > 2*w.plan.Settings.Lease:
			w.failAbout(ofPartition(int32(p)), "the group had no coordinator for %v, and the lease of partition %d was never renewed (C4)", lasted, p)
		case now.epoch != before[p].epoch && w.plan.Settings.Lease >= longLease:
			w.failAbout(ofPartition(int32(p)), "the group had no coordinator for %v, and the lease of partition %d ran out (C4)", lasted, p)
		}
	}
}
