package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// A store whose bytes have changed on disk ends with errors, not with the
// process, and nothing is left of it for the next one.
func TestAStoreThatRottedIsNotOpenedAgain(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{Dir: "p0", FS: fs}
	k := rows.Key{Table: rows.Fact, Workflow: "w"}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(mark(1), []Change{{Key: k, Row: &text{strings.Repeat("x", 1000)}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, fs, o.Dir)
	if s, err = Open(o); err == nil {
		if _, err = s.Get(k, &text{}); err == nil {
			t.Error("a spoiled row is read")
		}
		_ = s.Close() // it may fail, as it is what it is
	}
	if err := Discard(o); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if m := s.Metadata(); !m.Applied.IsZero() {
		t.Errorf("what was spoiled says of itself %+v", m)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What is found to be spoiled while it is used is gone with the end of its use.
func TestAStoreFoundRottenIsWiped(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{Dir: "p0", FS: fs}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(mark(1), []Change{{Key: rows.Key{Table: rows.Fact, Workflow: "w"}, Row: &text{"x"}}}); err != nil {
		t.Fatal(err)
	}
	s.health.broke(errors.New("found so"))
	if err := s.Commit(mark(2), nil); err == nil {
		t.Error("a store that is known to be spoiled takes a batch")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err := fs.List(o.Dir); err == nil && len(files) > 0 {
		t.Errorf("there is still %v", files)
	}
}

// spoil changes a byte in the middle of every table.
func spoil(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	files, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	tables := slices.DeleteFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".sst") })
	if len(tables) == 0 {
		t.Fatal("the store has no tables")
	}
	for _, name := range tables {
		f, err := fs.OpenReadWrite(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{0xff, 0xfe, 0xfd}, 8); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
