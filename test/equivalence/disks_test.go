package equivalence

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/heddle-run/heddle/test/sim/disk"
)

// damage is what is wrong with the disk that a planner finds.
type damage int

const (
	none      damage = iota
	outdated         // an earlier state of it
	flipped          // one bit of one file is not what was written
	truncated        // one file has lost its end
	rotTables        // the first row of every table is spoilt
	rotOthers        // all that says which tables there are is
)

var damageNames = map[damage]string{
	outdated: "an outdated store", flipped: "a flipped bit", truncated: "a truncated file", rotTables: "rotten tables", rotOthers: "a rotten manifest",
}

// remains is the disk as a kill leaves it.
func (w *world) remains(fs *disk.Disk, f *fate, rng *rand.Rand) *disk.Disk {
	if f.wiped {
		w.happened("a wiped disk")
		return disk.New()
	}
	if f.unsynced < 100 {
		w.happened("an unsynced tail that is lost")
	}
	return fs.After(f.unsynced, rng)
}

// spoilt is the disk that the next incarnation finds.
func (w *world) spoilt(fs *disk.Disk, f *fate, rng *rand.Rand) *disk.Disk {
	if f == nil || f.damage == none {
		return fs
	}
	found, err := true, error(nil)
	switch f.damage {
	case outdated:
		if found = f.old != nil; found {
			fs = f.old
		}
	case flipped:
		found, err = fs.Flip(rng)
	case truncated:
		found, err = fs.Cut(rng)
	case rotTables, rotOthers:
		err = fs.Rot(f.damage == rotTables)
	}
	w.must(err)
	if found {
		w.happened(damageNames[f.damage])
	}
	return fs
}

// fill leaves no room on a disk for a while.
func (w *world) fill(fs *disk.Disk, after, lasts time.Duration) {
	if !w.chaotic(context.Background()) || !w.wait(after) {
		return
	}
	fs.Fill()
	w.wait(lasts)
	fs.Free()
	if fs.Refused() > 0 {
		w.happened("a full disk")
	}
}
