package partition

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
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
