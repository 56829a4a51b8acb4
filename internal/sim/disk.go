package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
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

// Create implements vfs.FS. A full disk refuses new stores and restores. It takes
// the tables of a flush all the same: Pebble tries those again at once for ever,
// and virtual time would stand still.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if flushed := strings.HasSuffix(name, ".sst") && !strings.HasSuffix(name, "restore.sst"); d.full.Load() && !flushed {
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

// spoil changes a byte of a file, in its first half: what Pebble cannot read of
// a table's end it tries again at once for ever.
func (d *disk) spoil(name string, rng *rand.Rand) {
	f, err := d.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		_, _ = f.WriteAt([]byte{byte(rng.Uint32())}, rng.Int64N(1+info.Size()/2))
	}
}
