package store

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// contents are rows by encoded key.
type contents map[string]string

func (c contents) set(k rows.Key, row rows.Row) {
	if row == nil {
		delete(c, string(k.Append(nil)))
	} else {
		c[string(k.Append(nil))] = string(wire.Marshal(row))
	}
}

// marker is what a checkpoint's marker says.
type marker struct{ applied, replayFrom journal.Mark }

// world is a partition's journal, its changelog and its store, which is killed
// now and then.
type world struct {
	t      *rapid.T
	fs     *vfs.MemFS
	store  *Store
	rng    *rand.Rand
	states []contents     // states[n]: the rows as of record n
	log    [][]rows.Write // log[n-1]: record n
	stored uint64         // the last record in the store

	changelog contents
	marker    marker
	inFlight  *Snapshot
	given     []DueRow // by the checkpoint in flight
	written   int      // owners of it that are in the changelog, and known to be
}

func (w *world) open() {
	var err error
	w.store, err = Open(Options{Dir: "p0", FS: w.fs, MemTableBytes: 256 << 10})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store.dirty.log.slack = 0
}

func (w *world) state() contents { return w.states[len(w.log)] }

// record appends to the journal: changes of one workflow and of the partition.
func (w *world) record() {
	owner := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.t, "workflow")
	next := maps.Clone(w.state())
	var writes []rows.Write
	for i := range rapid.IntRange(0, 6).Draw(w.t, "writes") {
		n := rapid.Uint64Range(0, 8).Draw(w.t, "n")
		k := rapid.SampledFrom([]rows.Key{
			{Table: rows.Fact, Workflow: owner, A: n},
			{Table: rows.Timer, Workflow: owner, A: n},
			{Table: rows.Ledger, Workflow: owner, Sub: fmt.Sprint(n)},
			{Table: rows.Outbox, A: n},
		}).Draw(w.t, "key")
		var row rows.Row
		if rapid.Bool().Draw(w.t, "put") {
			row = &text{fmt.Sprintf("%d.%d", len(w.log)+1, i)}
		}
		writes = append(writes, rows.Write{Key: k, Row: row})
		next.set(k, row)
	}
	w.log = append(w.log, writes)
	w.states = append(w.states, next)
}

// commit writes the next so many records to the store.
func (w *world) commit(records uint64) {
	var changes []Change
	at := map[rows.Key]int{}
	for n := w.stored; n < w.stored+records; n++ {
		for _, one := range w.log[n] {
			i, again := at[one.Key]
			if !again {
				i = len(changes)
				at[one.Key] = i
				_, there := w.states[w.stored][string(one.Key.Append(nil))]
				changes = append(changes, Change{Key: one.Key, New: !there})
			}
			changes[i].Row = one.Row
		}
	}
	w.stored += records
	if err := w.store.Commit(mark(w.stored), changes); err != nil {
		w.t.Fatal(err)
	}
}

// Record appends some records and writes some of what is not in the store.
func (w *world) Record(t *rapid.T) {
	w.t = t
	for range rapid.IntRange(1, 4).Draw(t, "records") {
		w.record()
	}
	w.commit(rapid.Uint64Range(0, uint64(len(w.log))-w.stored).Draw(t, "commit"))
}

func (w *world) Flush(t *rapid.T) {
	if err := w.store.db.Flush(); err != nil {
		t.Fatal(err)
	}
}

// Checkpoint starts one for some of the workflows.
func (w *world) Checkpoint(t *rapid.T) {
	w.t = t
	if w.inFlight != nil {
		return
	}
	w.inFlight = w.store.Due(func(string, Dirty) bool { return rapid.Bool().Draw(t, "due") })
	w.collect()
}

func (w *world) collect() {
	w.given, w.written = nil, 0
	other := false
	err := each(w.inFlight, func(workflow string, key, value []byte) error {
		k, err := rows.ParseKey(key)
		if err != nil || k.Owner() != workflow || other && workflow == "" {
			w.t.Fatalf("key %x of %q: %v", key, workflow, err)
		}
		other = workflow != ""
		w.given = append(w.given, DueRow{workflow, bytes.Clone(key), bytes.Clone(value)})
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// publish makes the first so many owners of the checkpoint in flight part of the
// changelog.
func (w *world) publish(owners int) {
	for i := range w.given {
		row := &w.given[i]
		switch {
		case !slices.ContainsFunc(w.inFlight.groups[:owners], func(g *dirtyGroup) bool { return g.owner == row.Owner }):
		case row.Value == nil:
			delete(w.changelog, string(row.Key))
		default:
			w.changelog[string(row.Key)] = string(row.Value)
		}
	}
	w.marker = marker{w.inFlight.Applied, w.inFlight.ReplayFrom(owners)}
}

// Part writes some more owners of the checkpoint in flight.
func (w *world) Part(t *rapid.T) {
	w.t = t
	if w.inFlight == nil || w.written == w.inFlight.Owners() {
		return
	}
	w.written = rapid.IntRange(w.written+1, w.inFlight.Owners()).Draw(t, "owners")
	w.publish(w.written)
	if err := w.inFlight.Wrote(w.written); err != nil {
		t.Fatal(err)
	}
}

// Settle ends a checkpoint: committed, aborted, or committed and not known to be.
func (w *world) Settle(t *rapid.T) {
	w.t = t
	if w.inFlight == nil {
		return
	}
	written := rapid.Bool().Draw(t, "written")
	if written {
		w.publish(w.inFlight.Owners())
	}
	known := written && rapid.Bool().Draw(t, "known")
	if err := end(w.inFlight, known); err != nil {
		t.Fatal(err)
	}
	w.inFlight = nil
}

// Crash kills the process or the machine, perhaps with a checkpoint under way,
// opens what is left, and replays the journal.
func (w *world) Crash(t *rapid.T) {
	w.t = t
	old, ended := w.store, w.inFlight
	if w.inFlight != nil && rapid.Bool().Draw(t, "written") {
		w.publish(w.inFlight.Owners())
	}
	w.inFlight = nil
	lost := rapid.SampledFrom([]int{0, 50, 100}).Draw(t, "unsynced data kept")
	w.fs = w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: lost, RNG: w.rng})
	w.open()
	if ended != nil {
		if err := ended.Done(); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	w.checkPrefix()
	if rapid.Bool().Draw(t, "replayed") {
		w.commit(uint64(len(w.log)) - w.stored)
		w.store.Live(true)
	} else {
		w.commit(rapid.Uint64Range(0, uint64(len(w.log))-w.stored).Draw(t, "commit"))
	}
}

// checkPrefix holds the reopened store against the state as of the record that
// it says it holds.
func (w *world) checkPrefix() {
	n := w.store.Metadata().Applied.Position.Seq
	if n > w.stored {
		w.t.Fatalf("record %d is applied, only %d were written", n, w.stored)
	}
	w.stored = n
	if got := w.dump(); !maps.Equal(got, w.states[n]) {
		w.t.Fatalf("after record %d the store has\n%q\nwant\n%q", n, got, w.states[n])
	}
}

// dump are all rows of the store but its bookkeeping.
func (w *world) dump() contents {
	all := contents{}
	it, err := w.store.db.NewIter(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if !local(rows.Table(it.Key()[0])) {
			all[string(it.Key())] = string(it.Value())
		}
	}
	if err := it.Close(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// Check restores the changelog elsewhere and replays the journal as its marker
// says (C1): the state must come out.
func (w *world) Check(t *rapid.T) {
	got := maps.Clone(w.changelog)
	for n := w.marker.replayFrom.Position.Seq; n < uint64(len(w.log)); n++ {
		for _, one := range w.log[n] {
			if one.Key.Owner() != "" || n >= w.marker.applied.Position.Seq {
				got.set(one.Key, one.Row)
			}
		}
	}
	if !maps.Equal(got, w.state()) {
		t.Fatalf("changelog and journal give\n%q\nwant\n%q", got, w.state())
	}
}

// finish writes everything and takes a whole checkpoint: the changelog must be
// what the store is, whatever happened before (C2).
func (w *world) finish(t *rapid.T) {
	w.t = t
	w.Settle(t)
	w.commit(uint64(len(w.log)) - w.stored)
	w.inFlight = w.store.Due(func(string, Dirty) bool { return true })
	w.collect()
	w.publish(w.inFlight.Owners())
	if err := end(w.inFlight, true); err != nil {
		t.Fatal(err)
	}
	w.checkPrefix()
	if !maps.Equal(w.changelog, w.state()) {
		t.Fatalf("the changelog has\n%q\nwant\n%q", w.changelog, w.state())
	}
	if owners, size := w.store.Dirty(); owners != 0 || size != 0 {
		t.Fatalf("%d owners with %d bytes are dirty after a whole checkpoint", owners, size)
	}
	if n := len(w.store.dirty.log.entries); n != 0 {
		t.Fatalf("%d entries are in the dirty log after a whole checkpoint", n)
	}
}

func TestChangelogAndJournalGiveTheStateWheneverTheStoreIsKilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			t: t, fs: vfs.NewCrashableMem(), states: []contents{{}}, changelog: contents{},
			rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
		}
		w.open()
		w.store.Live(true)
		t.Repeat(rapid.StateMachineActions(w))
		w.finish(t)
		if err := w.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestShortLivedRowsNeverReachTheChangelog(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer s.Close()
	s.Live(true)
	k := rows.Key{Table: rows.Fact, Workflow: "w", A: 1}
	other := rows.Key{Table: rows.Fact, Workflow: "w", A: 2}
	for i, c := range []Change{{Key: k, Row: &text{"a"}, New: true}, {Key: other, Row: &text{"b"}, New: true}, {Key: k}} {
		if err := s.Commit(mark(uint64(i+1)), []Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	sn := s.Due(func(string, Dirty) bool { return true })
	var keys [][]byte
	if err := each(sn, func(_ string, key, _ []byte) error { keys = append(keys, key); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 1 || !bytes.Equal(keys[0], other.Append(nil)) {
		t.Fatalf("due are %x", keys)
	}
	if err := end(sn, true); err != nil {
		t.Fatal(err)
	}
}
