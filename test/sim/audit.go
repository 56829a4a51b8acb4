package sim

import (
	"fmt"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/disk"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// audit holds what a run has left against what must be.
func (w *world) audit() {
	for _, u := range w.users {
		if err := u.wf.Check(u.results); err != nil {
			w.fail("results: %w", err)
		}
	}
	w.settleOwed()
	w.leaveInOrder()
	journals := w.allLawful()
	w.auditJournals(journals)
	w.auditStores("the last store", journals)
	if !w.failed() {
		w.restoreAll()
		w.auditStores("the store restored from changelog and journal", w.allLawful())
	}
}

// allLawful are the records of all journals that count, by partition.
func (w *world) allLawful() [][]*events.Record {
	all := make([][]*events.Record, w.plan.Partitions)
	for p := range all {
		all[p] = w.lawful(int32(p))
	}
	return all
}

// journal are the records of a journal as its readers could see them.
func (w *world) journal(p int32) []*kgo.Record {
	return w.c.visible(place{w.c.names.Journal(), p})
}

// lawful are the records of a journal that count.
func (w *world) lawful(p int32) []*events.Record {
	var filter journal.Filter
	var all []*events.Record
	for _, k := range w.journal(p) {
		h, err := journal.ParseHeaders(k.Headers)
		if err != nil || !h.Lawful(&filter) {
			continue
		}
		rec, err := journal.Decode(k)
		if err != nil {
			w.failAbout(ofPartition(p), "the journal of partition %d, offset %d: %w", p, k.Offset, err)
			return all
		}
		all = append(all, rec)
	}
	return all
}

// leaveInOrder ends all planners in order, with everything written.
func (w *world) leaveInOrder() {
	w.note("everybody leaves")
	if !w.until("everybody owns what it was given", w.owned) {
		return
	}
	for slot, n := range w.nodes {
		w.nodes[slot] = nil
		n.leave()
	}
	w.until("all planners have ended", w.allEnded)
}

// owned reports whether every partition is owned where the group gave it.
func (w *world) owned() bool {
	for p, slot := range w.owner {
		if w.nodes[slot] == nil {
			return false
		}
		o := w.nodes[slot].owners[int32(p)]
		if o == nil || o.Status().State != partition.Owning {
			return false
		}
	}
	for slot, n := range w.nodes {
		if n == nil {
			return false
		}
		for p := range n.owners {
			if w.owner[p] != slot {
				return false
			}
		}
	}
	return true
}

// allEnded reports whether all processes that were ended have ended.
func (w *world) allEnded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaving == 0
}

// until goes on until something holds.
func (w *world) until(what string, holds func() bool) bool {
	for range mostSteps {
		if synctest.Wait(); holds() {
			return true
		}
		w.step++
		w.advance()
	}
	w.fail("it does not come to this: %s: %s", what, w.stuck())
	return false
}

// restoreAll lets one planner with an empty disk own everything, and end in order.
func (w *world) restoreAll() {
	w.disks[0] = disk.New()
	w.startNode(0, w.disks[0])
	for p := range w.owner {
		w.assign(int32(p), 0)
	}
	all := w.nodes
	w.nodes = w.nodes[:1]
	if w.until("one planner owns everything", w.owned) {
		n := w.nodes[0]
		w.nodes[0] = nil
		w.nodes = all
		n.leave()
		w.until("it has ended", w.allEnded)
	}
	w.nodes = all
}

// auditStores holds the workflow rows of the last owners' stores against what
// folding the journal gives (property 4).
func (w *world) auditStores(what string, journals [][]*events.Record) {
	for p, slot := range w.owner {
		if err := w.auditStore(fmt.Sprintf("%s, partition %d", what, p), w.disks[slot], storeDir(int32(p)), int32(p), journals[p]); err != nil {
			w.failAbout(ofPartition(int32(p)), "%w", err)
		}
	}
}

// auditStore holds one against the journal, or what it has of that.
func (w *world) auditStore(what string, fs *disk.Disk, dir string, p int32, records []*events.Record) error {
	have, err := workload.Read(fs, dir, workload.WorkflowTables)
	if fs.Rotten() && (err != nil || len(have) == 0) {
		return nil // it says so, or was wiped
	}
	if err == nil && !released(records) { // its owner's lease ran out before it had all of them
		var at events.Position
		at, err = workload.Applied(fs, dir)
		records = upTo(records, at)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	want, err := workload.Fold(secret, p, records)
	if err != nil {
		return err
	}
	return workload.Compare(what, want, have)
}

// released reports whether the last owner of a journal's partition gave it up in order.
func released(records []*events.Record) bool {
	if len(records) == 0 {
		return false
	}
	last := records[len(records)-1].Events
	return len(last) == 1 && events.Name(last[0]) == "AuthorityReleased"
}

// upTo are the records up to a position.
func upTo(records []*events.Record, last events.Position) []*events.Record {
	n := len(records)
	for n > 0 && last.Before(records[n-1].Position) {
		n--
	}
	return records[:n]
}
