package sim

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system of a planner's machine: it outlives processes, and may
// lose what was not synced, be full, or hold other bytes than were written. While
// it is full, it takes neither new files nor writes to those that are open.
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
		return nil, refused()
	}
	f, err := d.MemFS.Create(name, category)
	return d.written(f, err)
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.MemFS.ReuseForWrite(from, to, category)
	return d.written(f, err)
}

// OpenReadWrite implements vfs.FS.
func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.MemFS.OpenReadWrite(name, category, opts...)
	return d.written(f, err)
}

func (d *disk) written(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &written{f, d}, nil
}

// written is a file that is open for writing.
type written struct {
	vfs.File
	on *disk
}

// Write implements vfs.File. A full disk takes the first half: a write that
// fails may have left something.
func (f *written) Write(b []byte) (int, error) {
	if !f.on.full.Load() {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:len(b)/2])
	if err == nil {
		err = refused()
	}
	return n, err
}

// WriteAt implements vfs.File, as Write.
func (f *written) WriteAt(b []byte, at int64) (int, error) {
	if !f.on.full.Load() {
		return f.File.WriteAt(b, at)
	}
	n, err := f.File.WriteAt(b[:len(b)/2], at)
	if err == nil {
		err = refused()
	}
	return n, err
}

// refused is the answer of a full disk. It takes its time: Pebble tries a flush
// again at once, and virtual time stands still while anybody is at work.
func refused() error {
	time.Sleep(time.Millisecond)
	return syscall.ENOSPC
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
