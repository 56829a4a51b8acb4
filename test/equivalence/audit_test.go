package equivalence

import (
	"context"
	"fmt"
	"maps"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/disk"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// audit holds the journal against how workflows behave, the stores against
// the journal, and what the client was told against the specification, once all
// processes have ended. It returns what has occurred.
func (w *world) audit() occurred {
	w.t.Helper()
	w.visit("the last store", w.disk(0))
	w.visit("the store restored from changelog and journal", disk.New())
	ctx, cancel := w.within()
	defer cancel()
	journals, err := w.journals(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	ours, others, err := w.commands(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.auditCommands(ctx, ours, others, journals)
	for _, records := range journals {
		w.must(workload.CheckJournal(w.plan, w.memory, w.faults.steady(), nil, records))
	}
	w.must(w.memory.Complaints())
	w.auditCalls(ours, journals)
	covered := w.covered(journals)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Logf("%v of virtual time; killed: %d planners, %d workers; faults: %v; occurred: %v",
		time.Since(w.began).Round(time.Second), w.killedPlanners, w.killedWorkers, w.faulted, covered)
	return occurred{covered, w.faulted}
}

// auditCommands holds that every command that was ever in the topic is decided
// by exactly one record, but for those that are told lost and came no other time.
func (w *world) auditCommands(ctx context.Context, ours, others map[string]bool, journals [][]*events.Record) {
	w.t.Helper()
	all := maps.Clone(others)
	maps.Copy(all, ours)
	for _, id := range w.written() {
		all[id] = true
	}
	if w.strangers != nil {
		maps.Copy(all, w.strangers.misplaced)
	}
	for id := range w.auditLosses(ctx, journals) {
		if !w.asked.answered(id) {
			delete(all, id)
		}
	}
	w.must(workload.CheckCommands(all, journals))
	w.auditLetters(ctx, journals)
}

// visit starts a planner on a disk, ends it in order when it owns everything,
// and holds what it leaves against the folded journal.
func (w *world) visit(what string, fs *disk.Disk) {
	w.t.Helper()
	cfg := w.plannerConfig(0, fs)
	p, err := plannerd.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for !owns(p, w.plan.Partitions) {
		select {
		case err := <-ended:
			w.t.Fatalf("%s: the planner does not own all partitions, it has %+v: %v", what, p.Partitions(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	synctest.Wait()
	stop()
	w.must(<-ended)
	w.compareStores(what, fs)
}

// owns reports whether a planner has all partitions; a killed one keeps its own
// until the group misses it.
func owns(p *plannerd.Planner, all int32) bool {
	n := int32(0)
	for _, s := range p.Partitions() {
		if s.State == partition.Owning {
			n++
		}
	}
	return n == all
}

func (w *world) compareStores(what string, fs *disk.Disk) {
	w.t.Helper()
	ctx, cancel := w.within()
	defer cancel()
	journals, err := w.journals(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for p, records := range journals {
		have, err := workload.Read(fs, plannerDir(0, p), workload.WorkflowTables)
		if fs.Rotten() && (err != nil || len(have) == 0) {
			continue // it is found out when it is read
		}
		w.must(err)
		want, err := workload.Fold(secret, int32(p), records)
		w.must(err)
		w.must(workload.Compare(fmt.Sprintf("%s, partition %d", what, p), want, have))
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Error(err)
	}
}
