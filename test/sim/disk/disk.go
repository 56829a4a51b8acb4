// Package disk is the disk of a simulated machine.
package disk

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/store"
)

// Disk is the file system of a machine in memory: it outlives processes, and may
// lose what was not synced, be full, hang, or hold other bytes than were written.
// While it is full, it takes neither new files nor writes to those that are open;
// while it hangs, it answers to neither.
type Disk struct {
	*vfs.MemFS
	full    atomic.Bool
	refused atomic.Int64
	rotten  bool
	hung    atomic.Pointer[chan struct{}] // closed when it answers again; nil: it does

	crashing sync.Mutex
	crash    *crash // that is prepared, or has happened; nil: none
}

// New is an empty disk.
func New() *Disk { return &Disk{MemFS: vfs.NewCrashableMem()} }

// After is a copy of the disk as a crash leaves it: with what was synced, and
// some percent of all else that was written. It has room. rng draws what
// survives, if something does.
func (d *Disk) After(unsynced int, rng *rand.Rand) *Disk {
	return &Disk{MemFS: d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng}), rotten: d.rotten}
}

// Copy is a copy of the disk with all that was written.
func (d *Disk) Copy() *Disk { return d.After(100, rand.New(rand.NewPCG(1, 1))) }

// Fill leaves no room on the disk.
func (d *Disk) Fill() { d.full.Store(true) }

// Free makes room on the disk again.
func (d *Disk) Free() { d.full.Store(false) }

// Hang lets nobody who writes have an answer.
func (d *Disk) Hang() {
	answers := make(chan struct{})
	d.hung.CompareAndSwap(nil, &answers)
}

// Answer ends that.
func (d *Disk) Answer() {
	if hung := d.hung.Swap(nil); hung != nil {
		close(*hung)
	}
}

// wait returns once the disk answers.
func (d *Disk) wait() {
	if hung := d.hung.Load(); hung != nil {
		<-*hung
	}
}

// Refused says how many writes found no room.
func (d *Disk) Refused() int { return int(d.refused.Load()) }

// Rotten reports whether bytes on it, or on a disk that it is a copy of, were
// changed: a store on it may be found so, and wiped, at any time.
func (d *Disk) Rotten() bool { return d.rotten }

// Create implements vfs.FS.
func (d *Disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.wait()
	if d.full.Load() {
		return nil, d.refuse()
	}
	f, err := d.MemFS.Create(name, category)
	return d.written(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (d *Disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.wait()
	f, err := d.MemFS.ReuseForWrite(from, to, category)
	return d.written(to, f, err)
}

// OpenReadWrite implements vfs.FS.
func (d *Disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	d.wait()
	f, err := d.MemFS.OpenReadWrite(name, category, opts...)
	return d.written(name, f, err)
}

func (d *Disk) written(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &written{f, d, name}, nil
}

// written is a file that is open for writing.
type written struct {
	vfs.File
	on   *Disk
	name string
}

// Sync implements vfs.File.
func (f *written) Sync() error {
	f.on.wait()
	f.on.syncs(f.name)
	return f.File.Sync()
}

// SyncData implements vfs.File.
func (f *written) SyncData() error {
	f.on.wait()
	f.on.syncs(f.name)
	return f.File.SyncData()
}

// SyncTo implements vfs.File.
func (f *written) SyncTo(length int64) (bool, error) {
	f.on.wait()
	f.on.syncs(f.name)
	return f.File.SyncTo(length)
}

// Write implements vfs.File. A full disk takes the first half: a write that
// fails may have left something.
func (f *written) Write(b []byte) (int, error) {
	f.on.wait()
	if !f.on.full.Load() {
		if strings.HasSuffix(f.name, store.RoomFile) {
			return len(b), nil // a megabyte for each store that is opened: it is kept for nobody
		}
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:len(b)/2])
	if err == nil {
		err = f.on.refuse()
	}
	return n, err
}

// WriteAt implements vfs.File, as Write.
func (f *written) WriteAt(b []byte, at int64) (int, error) {
	f.on.wait()
	if !f.on.full.Load() {
		return f.File.WriteAt(b, at)
	}
	n, err := f.File.WriteAt(b[:len(b)/2], at)
	if err == nil {
		err = f.on.refuse()
	}
	return n, err
}

// refuse is the answer of a full disk. It takes its time: Pebble tries a flush
// again at once, and virtual time stands still while anybody is at work.
func (d *Disk) refuse() error {
	d.refused.Add(1)
	time.Sleep(time.Millisecond)
	return syscall.ENOSPC
}
