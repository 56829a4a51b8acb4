package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// text is a row with one text.
type text struct{ s string }

func (t *text) Fields(c *wire.Codec) { wire.String(c, 1, "s", &t.s) }

type textMaker struct{}

func (textMaker) Make() rows.Row { return &text{} }

var newText textMaker

func mark(n uint64) journal.Mark {
	return journal.Mark{Position: events.Position{Epoch: 1, Seq: n}, Offset: int64(n) - 1, Digest: n}
}

func open(t testing.TB, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open(Options{Dir: "p0", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCommittedRowsAreReadBack(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	k := rows.Key{Table: rows.Fact, Workflow: "w", A: 7}
	if err := s.Commit(mark(1), []Change{{Key: k, Row: &text{"a"}, New: true}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, fs)
	defer s.Close()
	var got text
	if ok, err := s.Get(k, &got); !ok || err != nil || got.s != "a" {
		t.Fatalf("got %v %v %v", ok, err, got)
	}
	if s.Metadata().Applied != mark(1) {
		t.Fatalf("applied is %+v", s.Metadata().Applied)
	}
	sn := s.Due(func(string, Dirty) bool { return true })
	n := 0
	if err := each(sn, func(w string, key, value []byte) error { n++; return nil }); err != nil || n != 1 {
		t.Fatalf("due: %d %v", n, err)
	}
	if err := end(sn, true); err != nil {
		t.Fatal(err)
	}
	if owners, _ := s.Dirty(); owners != 0 {
		t.Fatalf("%d owners are dirty", owners)
	}
}
