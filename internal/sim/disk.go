package sim

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system of a planner's machine: it outlives processes, and may
// lose what was not synced, be full, or hold other bytes than were written.
type disk struct {
	*vfs.MemFS
	full   atomic.Bool
	rotted bool // a store on it may be found so, and wiped, at any time
}

func newDisk() *disk { return &disk{MemFS: vfs.NewCrashableMem()} }

// after is the disk as a crash leaves it: with what was synced, or with all that
// was written.
func (d *disk) after(all bool) *disk {
	cfg := vfs.CrashCloneCfg{}
	if all {
		cfg = vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
	}
	return &disk{MemFS: d.CrashClone(cfg), rotted: d.rotted}
}

// Create implements vfs.FS.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	return d.MemFS.Create(name, category)
}

// rot changes bytes in all tables, or in what says which tables there are.
func (d *disk) rot(tables bool) {
	d.rotted = true
	dirs, err := d.List("")
	if err != nil {
		return
	}
	for _, dir := range dirs {
		files, err := d.List(dir)
		if err != nil {
			continue
		}
		for _, name := range files {
			if tables == strings.HasSuffix(name, ".sst") {
				d.spoil(d.PathJoin(dir, name))
			}
		}
	}
}

// spoil changes a few bytes at the beginning of a file: the first row is there.
func (d *disk) spoil(name string) {
	f, err := d.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 16 {
		_, _ = f.WriteAt([]byte{0xde, 0xad, 0xbe, 0xef}, 8)
	}
}
