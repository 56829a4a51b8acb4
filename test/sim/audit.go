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

// audit holds what has become of everything against the plan, when all has come to rest.
type audit struct{ *world }

// audit holds what a run has left against what must be.
func (au *audit) audit() {
	for _, u := range au.users {
		if err := u.wf.Check(u.results); err != nil {
			au.fail("results: %w", err)
		}
	}
	au.settleOwed()
	au.archiving.audit()
	au.leaveInOrder()
	journals := au.allLawful()
	au.auditJournals(journals)
	au.auditStores("the last store", journals)
	if !au.failed() {
		au.restoreAll()
		au.auditStores("the store restored from changelog and journal", au.allLawful())
	}
}

// allLawful are the records of all journals that count, by partition.
func (au *audit) allLawful() [][]*events.Record {
	all := make([][]*events.Record, au.plan.Partitions)
	for p := range all {
		all[p] = au.lawful(int32(p))
	}
	return all
}

// journal are the records of a journal as its readers could see them.
func (au *audit) journal(p int32) []*kgo.Record {
	return au.c.visible(place{au.c.names.Journal(), p})
}

// lawful are the records of a journal that count.
func (au *audit) lawful(p int32) []*events.Record {
	var filter journal.Filter
	var all []*events.Record
	for _, k := range au.journal(p) {
		h, err := journal.ParseHeaders(k.Headers)
		if err != nil || !h.Lawful(&filter) {
			continue
		}
		rec, err := journal.Decode(k)
		if err != nil {
			au.failAbout(ofPartition(p), "the journal of partition %d, offset %d: %w", p, k.Offset, err)
			return all
		}
		all = append(all, rec)
	}
	return all
}

// leaveInOrder ends all planners in order, with everything written. Whoever waits for a partition
// that was blocked has its answer first: nobody else would give it.
func (au *audit) leaveInOrder() {
	au.note("everybody leaves")
	if !au.until("everybody owns what it was given, and is answered", func() bool { return au.owned() && !au.busy() }) {
		return
	}
	for slot, n := range au.nodes {
		au.nodes[slot] = nil
		n.leave()
	}
	au.until("all planners have ended", au.allEnded)
}

// owned reports whether every partition is owned where the group gave it.
func (au *audit) owned() bool {
	for p, slot := range au.owner {
		if au.nodes[slot] == nil {
			return false
		}
		o := au.nodes[slot].owners[int32(p)]
		if o == nil || o.Status().State != partition.Owning {
			return false
		}
	}
	for slot, n := range au.nodes {
		if n == nil {
			return false
		}
		for p := range n.owners {
			if au.owner[p] != slot {
				return false
			}
		}
	}
	return true
}

// allEnded reports whether all processes that were ended have ended.
func (au *audit) allEnded() bool {
	au.mu.Lock()
	defer au.mu.Unlock()
	return au.leaving == 0
}

// until goes on until something holds.
func (au *audit) until(what string, holds func() bool) bool {
	for range mostSteps {
		if synctest.Wait(); holds() {
			return true
		}
		au.step++
		au.advance()
	}
	au.fail("it does not come to this: %s: %s", what, au.stuck())
	return false
}

// restoreAll lets one planner with an empty disk own everything, and end in order.
func (au *audit) restoreAll() {
	au.disks[0] = disk.New()
	au.startNode(0, au.disks[0])
	for p := range au.owner {
		au.members.assign(int32(p), 0)
	}
	all := au.nodes
	au.nodes = au.nodes[:1]
	if au.until("one planner owns everything", au.owned) {
		n := au.nodes[0]
		au.nodes[0] = nil
		au.nodes = all
		n.leave()
		au.until("it has ended", au.allEnded)
	}
	au.nodes = all
}

// auditStores holds the workflow rows of the last owners' stores against what
// folding the journal gives (property 4).
func (au *audit) auditStores(what string, journals [][]*events.Record) {
	for p, slot := range au.owner {
		if err := au.auditStore(fmt.Sprintf("%s, partition %d", what, p), au.disks[slot], storeDir(int32(p)), int32(p), journals[p]); err != nil {
			au.failAbout(ofPartition(int32(p)), "%w", err)
		}
	}
}

// auditStore holds one against the journal, or what it has of that.
func (au *audit) auditStore(what string, fs *disk.Disk, dir string, p int32, records []*events.Record) error {
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
