package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// feed writes one change of record n through the cache.
func feed(t *testing.T, s *Store, c *Cache, n uint64, writes ...rows.Write) []Change {
	t.Helper()
	c.Apply(writes, n)
	changes := append([]Change(nil), c.Unwritten(n)...)
	if err := s.Commit(mark(n), c.batch.changes); err != nil {
		t.Fatal(err)
	}
	c.Written(n)
	return changes
}

// One workflow that is fed for years stays within the limit, and its new rows
// are still known to be new.
func TestOneWorkflowDoesNotOutgrowTheCache(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer s.Close()
	const limit = 200_000
	c := NewCache(s, limit)
	c.Get(rows.Key{Table: rows.Header, Workflow: "w"}, newText)
	for n := uint64(1); n < 5000; n++ {
		changes := feed(t, s, c, n,
			rows.Write{Key: rows.Key{Table: rows.Header, Workflow: "w"}, Row: &text{"h"}},
			rows.Write{Key: rows.Key{Table: rows.Fact, Workflow: "w", A: n}, Row: &text{"a fact"}})
		if !changes[1].New {
			t.Fatalf("fact %d is not known to be new", n)
		}
		if b := c.Stats().Bytes; b > limit {
			t.Fatalf("%d bytes after %d facts", b, n)
		}
	}
	if misses := c.Stats().Misses; misses > 10 {
		t.Errorf("%d reads of the store", misses)
	}
	if c.Get(rows.Key{Table: rows.Fact, Workflow: "w", A: 1}, newText) == nil {
		t.Error("an evicted fact is gone")
	}
}

// A queue that is far larger than the cache is consumed with few reads.
func TestLongQueueIsConsumedFromMemory(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer s.Close()
	c := NewCache(s, 100_000)
	c.Get(rows.Key{Table: rows.Header, Workflow: "w"}, newText)
	const rowsInQueue = 4000
	for n := range uint64(rowsInQueue) {
		feed(t, s, c, n+1, rows.Write{Key: rows.Key{Table: rows.Ready, Workflow: "w", B: n}, Row: &text{"r"}})
	}
	before := c.Stats().Misses
	for n := range uint64(rowsInQueue) {
		var first rows.Key
		c.Scan(rows.Key{Table: rows.Ready, Workflow: "w"}, newText, func(k rows.Key, _ rows.Row) bool { first = k; return false })
		if first.B != n {
			t.Fatalf("first is %d, want %d", first.B, n)
		}
		feed(t, s, c, rowsInQueue+n+1, rows.Write{Key: first})
	}
	if misses := c.Stats().Misses - before; misses > rowsInQueue/readAhead+10 {
		t.Errorf("%d reads of the store for %d rows", misses, rowsInQueue)
	}
}

// A workflow that is never due does not keep the dirty log of all others.
func TestDirtyLogStaysNearWhatIsDirty(t *testing.T) {
	s := open(t, vfs.NewMem())
	defer s.Close()
	s.Live(true)
	n := uint64(0)
	write := func(workflow string, fact uint64) {
		n++
		k := rows.Key{Table: rows.Fact, Workflow: workflow, A: fact}
		if err := s.Commit(mark(n), []Change{{Key: k, Row: &text{"x"}, New: true}}); err != nil {
			t.Fatal(err)
		}
	}
	write("never due", 1)
	for range 200 {
		for fact := range uint64(100) {
			write("due", n+fact)
		}
		sn := s.Due(func(w string, _ Dirty) bool { return w == "due" })
		if !sn.ReplayFrom(sn.Owners()).IsZero() {
			t.Fatalf("replay from %+v, but a dirty workflow needs record 1", sn.ReplayFrom(sn.Owners()))
		}
		if err := end(sn, true); err != nil {
			t.Fatal(err)
		}
		if l := &s.dirty.log; l.bytes > 2*s.dirty.bytes+l.slack {
			t.Fatalf("the log has %d bytes for %d bytes of dirty keys", l.bytes, s.dirty.bytes)
		}
	}
	if owners, _ := s.Dirty(); owners != 1 {
		t.Errorf("%d owners are dirty", owners)
	}
}

func TestClosingEndsASnapshotInFlight(t *testing.T) {
	for _, end := range []func(*Store) error{(*Store).Close, (*Store).Abandon} {
		s := open(t, vfs.NewMem())
		s.Due(func(string, Dirty) bool { return true })
		if err := end(s); err != nil {
			t.Error(err)
		}
	}
}
