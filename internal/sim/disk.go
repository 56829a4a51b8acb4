package sim

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system of a planner's machine: it outlives processes, and may
// lose what was not synced, be full, or hold other bytes than were written.
type disk struct {
	*vfs.MemFS
	full atomic.Bool
}

func newDisk() *disk { return &disk{MemFS: vfs.NewCrashableMem()} }

// after is the disk as a crash leaves it: with what was synced, or with all that
// was written.
func (d *disk) after(all bool) *disk {
	cfg := vfs.CrashCloneCfg{}
	if all {
		cfg = vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
	}
	return &disk{MemFS: d.CrashClone(cfg)}
}

// Create implements vfs.FS.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	return d.MemFS.Create(name, category)
}

// rot changes bytes of some files.
func (d *disk) rot(rng *rand.Rand) {
	dirs, err := d.List("")
	if err != nil {
		return
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		files, err := d.List(dir)
		if err != nil {
			continue
		}
		slices.Sort(files)
		for _, name := range files {
			if rng.IntN(3) == 0 {
				d.spoil(d.PathJoin(dir, name), rng)
			}
		}
	}
}

// spoil changes a byte of a file.
func (d *disk) spoil(name string, rng *rand.Rand) {
	f, err := d.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		_, _ = f.WriteAt([]byte{byte(rng.Uint32())}, rng.Int64N(info.Size()))
	}
}
