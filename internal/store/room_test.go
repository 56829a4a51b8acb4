package store

import (
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// patience is how often a full disk refuses before it has room again: a planner that tries
// for ever is then noticed, and does not hang the test.
const patience = 1000

// closing is a disk that takes so many more writes, of whatever kind, and then
// nothing.
type closing struct {
	vfs.FS
	mu      sync.Mutex
	takes   int // further writes; negative: all
	refused int
}

func newClosing() *closing {
	d := &closing{takes: -1}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(d.write))
	return d
}

func (d *closing) write(op errorfs.Op) error {
	needs := []errorfs.OpKind{
		errorfs.OpCreate, errorfs.OpLink, errorfs.OpRename, errorfs.OpReuseForWrite, errorfs.OpMkdirAll, errorfs.OpFilePreallocate,
		errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo,
	}
	if !slices.Contains(needs, op.Kind) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.takes > 0:
		d.takes--
	case d.takes == 0 && d.refused < patience:
		d.refused++
		return syscall.ENOSPC
	}
	return nil
}

// after lets the disk take so many more writes, and returns how many it has
// refused before.
func (d *closing) after(takes int) (refused int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refused, d.takes, d.refused = d.refused, takes, 0
	return refused
}

// Whenever the disk fills while a store is opened: that is an error and not tried
// for ever, and the store is not lost.
func TestADiskThatFillsWhileAStoreIsOpened(t *testing.T) {
	disk := newClosing()
	o := Options{Dir: "p0", FS: disk}
	if err := openFilled(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	for takes, opened := 0, false; !opened; takes++ {
		disk.after(takes)
		s, err := Open(o)
		refused := disk.after(-1)
		if err != nil && !IsFull(err) {
			t.Errorf("after %d writes: %v", takes, err)
		}
		if refused > 10 {
			t.Errorf("after %d writes it tries %d times", takes, refused)
		}
		if opened = err == nil; !opened {
			if s, err = Open(o); err != nil {
				t.Fatalf("after %d writes and with room again: %v", takes, err)
			}
		}
		if s.Metadata().Applied != mark(1) {
			t.Errorf("after %d writes it says of itself %+v", takes, s.Metadata())
		}
		if err := s.Close(); err != nil {
			t.Errorf("after %d writes: %v", takes, err)
		}
	}
}
