package partition

import (
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/store"
)

// fullDisk takes no new file while it is full.
type fullDisk struct {
	vfs.FS
	full atomic.Bool
}

// Create implements vfs.FS.
func (d *fullDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name, c)
}

// A store that cannot be written is given up, without spinning: as soon as there
// is room the partition is owned again with all that it had.
func TestAnOwnerGivesABrokenStoreUp(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		disk := &fullDisk{FS: r.fs}
		r.fs = disk
		r.settings.NeverRunsTwice = true
		r.adder()
		s := r.start("a", 0)
		r.do("w", "start", `{"definition":"counter"}`)
		r.do("w", "input", `{"input":7}`)
		first := s.await(Owning).Epoch
		disk.full.Store(true)
		for range 30 { // beyond the time of a flush
			<-time.After(time.Second)
		}
		if at := s.owners[0].Status(); at.State == Owning {
			t.Errorf("on a full disk the partition is %+v", at)
		}
		disk.full.Store(false)
		if again := s.await(Owning).Epoch; again <= first {
			t.Errorf("epoch %d follows %d", again, first)
		}
		if got := r.settled("w"); got != 7 {
			t.Errorf("the sum is %d, want 7", got)
		}
		s.leave()
	})
}

// A planner that starts on a full disk waits for room and says so; the store
// that it left there is used again then.
// Another process that works in the directory, as one that hangs while its successor
// starts, loses nothing to it.
func TestAStoreThatAnotherProcessHasIsWaitedFor(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		a := r.start("a", 0)
		a.await(Owning)
		a.leave()
		held, err := pebble.LockDirectory("a-0", r.fs)
		r.must(err)
		left, err := r.fs.List("a-0")
		r.must(err)
		b := r.start("a", 0)
		defer b.leave()
		<-time.After(30 * time.Second)
		if at := b.owners[0].Status(); at.State != Recovering || !strings.Contains(at.Why, store.ErrInUse.Error()) {
			t.Errorf("with a store that is in use the partition is %+v", at)
		}
		kept, err := r.fs.List("a-0")
		r.must(err)
		slices.Sort(left)
		if slices.Sort(kept); !slices.Equal(kept, left) {
			t.Errorf("of the store %v is left, it was %v", kept, left)
		}
		r.must(held.Close())
		b.await(Owning)
	})
}

func TestAFullDiskAtTheStartIsWaitedOut(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		disk := &fullDisk{FS: r.fs}
		r.fs = disk
		r.adder()
		a := r.start("a", 0)
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		left, err := disk.List("a-0")
		r.must(err)
		disk.full.Store(true)
		b := r.start("a", 0)
		defer b.leave()
		for range 30 {
			<-time.After(time.Second)
		}
		if at := b.owners[0].Status(); at.State != Recovering || !strings.Contains(at.Why, "waiting for room on the disk") {
			t.Errorf("on a full disk the partition is %+v", at)
		}
		kept, err := disk.List("a-0")
		r.must(err)
		slices.Sort(left)
		if slices.Sort(kept); !slices.Equal(kept, left) {
			t.Errorf("of the store %v is left, it was %v", kept, left)
		}
		disk.full.Store(false)
		b.await(Owning)
		if n := b.Stats.Replayed.Load(); n > 2 { // the release and the own takeover
			t.Errorf("%d records were replayed over a proven store", n)
		}
		if sum := r.settled("w"); sum != 21 {
			t.Errorf("the sum is %d, want 21", sum)
		}
	})
}
