package store

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// filling is a disk on which, while it is full, nothing more is written to the
// files whose names have one of the given parts, whether they are open or new.
type filling struct {
	vfs.FS
	full atomic.Bool
}

func newFilling(parts ...string) *filling {
	f := &filling{}
	f.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if f.full.Load() && slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(op.Path, part) }) {
				return syscall.ENOSPC
			}
		}
		return nil
	}))
	return f
}

// Whatever file it is that a full disk does not take: the store is given up and
// its owner told. The process goes on, and nothing is left in the way of the
// next store once there is room.
func TestAFullDiskIsTheEndOfTheStoreOnly(t *testing.T) {
	for _, part := range []string{"MANIFEST", ".sst", ""} {
		t.Run("no more "+part, func(t *testing.T) {
			disk := newFilling(part)
			broken := make(chan error, 1)
			var told bytes.Buffer
			o := Options{Dir: "p0", FS: disk, Broken: func(err error) { broken <- err }, Logger: slog.New(slog.NewTextHandler(&told, nil))}
			s := openFilled(t, o)
			disk.full.Store(true)
			if err := s.Flush(); err != nil {
				t.Error(err)
			}
			if err := <-broken; !strings.Contains(err.Error(), "no space left") {
				t.Errorf("the owner is told %v", err)
			}
			if err := s.Commit(mark(2), nil); err == nil {
				t.Error("a store that is given up takes a batch")
			}
			_ = s.Close() // it may fail, as it is what it is
			if line := told.String(); !strings.Contains(line, "the store is given up") || strings.Contains(line, "stack trace") {
				t.Errorf("the log says %s", line)
			}
			disk.full.Store(false)
			if err := Discard(o); err != nil {
				t.Fatal(err)
			}
			if err := openFilled(t, o).Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// openFilled opens a new store with a row that is in memory only.
func openFilled(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Metadata(); !m.Applied.IsZero() {
		t.Errorf("a new store says of itself %+v", m)
	}
	if err := s.Commit(mark(1), []Change{{Key: rows.Key{Table: rows.Fact, Workflow: "w"}, Row: &text{"x"}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A store that finds no room when it is made or restored fails with an error.
func TestNoRoomForANewStoreIsAnError(t *testing.T) {
	for _, part := range []string{"MANIFEST", ".sst", ""} {
		t.Run("no more "+part, func(t *testing.T) {
			disk := newFilling(part)
			o := Options{Dir: "p0", FS: disk}
			disk.full.Store(true)
			s, err := Open(o)
			if err == nil {
				err = restoreSome(s)
				_ = s.Close() // it may fail, as it is what it is
			}
			if err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("making a store: %v", err)
			}
			disk.full.Store(false)
			if err := Discard(o); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(o); err != nil {
				t.Fatal(err)
			}
			disk.full.Store(true)
			if err = restoreSome(s); err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("restoring a store: %v", err)
			}
			_ = s.Close() // it may fail, as it is what it is
		})
	}
}

// A store on a disk that has become full is not opened, neither is it lost: with
// room it is as it was. Of what is large nothing fits, or nothing at all.
func TestAFullDiskKeepsAStoreThatIsClosed(t *testing.T) {
	for _, parts := range [][]string{{"MANIFEST", "room"}, {""}} {
		t.Run(fmt.Sprintf("no more %q", parts), func(t *testing.T) {
			disk := newFilling(parts...)
			o := Options{Dir: "p0", FS: disk}
			if err := openFilled(t, o).Close(); err != nil {
				t.Fatal(err)
			}
			disk.full.Store(true)
			if _, err := Open(o); !IsFull(err) {
				t.Errorf("opening it is %v, want the error of a full disk", err)
			}
			disk.full.Store(false)
			s, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			if s.Metadata().Applied != mark(1) {
				t.Errorf("it says of itself %+v", s.Metadata())
			}
			files, err := disk.List(o.Dir)
			if err != nil || slices.Contains(files, "temporary.room") {
				t.Errorf("beside it there are %v, %v", files, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func restoreSome(s *Store) error {
	r := s.Restorer()
	r.limit = 1000
	k := rows.Key{Table: rows.Fact, Workflow: "w"}
	for k.A = range 500 {
		if err := r.Put(k.Append(nil), wire.Marshal(&text{fmt.Sprint(k.A)})); err != nil {
			return err
		}
	}
	return r.Finish(Metadata{Applied: mark(3)})
}
