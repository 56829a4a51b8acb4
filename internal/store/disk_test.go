package store

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestStoreOnDiskIsRestoredAndOpenedAgain(t *testing.T) {
	o := Options{Dir: t.TempDir() + "/p0", FS: vfs.Default}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Restorer()
	r.limit = 1000
	k := rows.Key{Table: rows.Fact, Workflow: "w"}
	for k.A = range 500 {
		if err := r.Put(k.Append(nil), wire.Marshal(&text{fmt.Sprint(k.A)})); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(Metadata{Applied: mark(3)}); err != nil {
		t.Fatal(err)
	}
	if m := s.Metrics(); m.Disk == 0 || m.Ingested == 0 || s.DiskBytes() == 0 {
		t.Errorf("metrics are %+v", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	err = s.Scan(rows.Key{Table: rows.Fact, Workflow: "w", A: 100}, func(k rows.Key, _ []byte) bool { n++; return true })
	if err != nil || n != 400 {
		t.Errorf("scanned %d rows: %v", n, err)
	}
	if m := s.Metadata(); !m.Complete || m.Applied != mark(3) {
		t.Errorf("the metadata is %+v", m)
	}
}

// Stores of one process share a limit of compactions; all of them get their turn.
func TestStoresThatShareACompactionLimitAllCompact(t *testing.T) {
	shared := NewShared(1 << 20)
	defer shared.Close()
	shared.compactions.limit = 1
	fs := vfs.NewMem()
	var all sync.WaitGroup
	for p := range 4 {
		all.Go(func() {
			s, err := Open(Options{Dir: fmt.Sprint(p), FS: fs, Shared: shared, MemTableBytes: 256 << 10})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range uint64(40) {
				k := rows.Key{Table: rows.Fact, Workflow: "w", A: n % 7}
				if err := s.Commit(mark(n+1), []Change{{Key: k, Row: &text{fmt.Sprint(n)}}}); err != nil {
					t.Error(err)
				}
				if err := s.db.Flush(); err != nil {
					t.Error(err)
				}
			}
			if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
				t.Error(err)
			}
			if m := s.Metrics(); m.Compactions == 0 || m.ReadAmp > 4 {
				t.Errorf("store %d: %+v", p, m)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c := shared.compactions
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.running != 0 { // Pebble returns the last right behind the back of Close
		c.idle.Wait()
	}
	if len(c.members) != 0 {
		t.Errorf("%d members are left", len(c.members))
	}
}
