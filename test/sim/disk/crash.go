package disk

import (
	"bytes"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crash is one that happens in the middle of writing.
type crash struct {
	below string // the directory whose writer it meets
	syncs int    // that it lets pass
	seed  uint64
	left  map[string][]byte // of the files below, once it has happened
	err   error
}

// CrashWithin prepares a crash in the middle of what is written below a directory:
// at one of the next syncs there, before it has done anything. seed draws which
// part of what was not synced is left. Once all is written that is written at a
// time, hardly anything is not synced: only so a part of it can be lost.
func (d *Disk) CrashWithin(below string, syncs int, seed uint64) {
	d.crashing.Lock()
	defer d.crashing.Unlock()
	d.crash = &crash{below: below, syncs: syncs, seed: seed}
}

// Crashed reports whether the crash that was prepared has happened.
func (d *Disk) Crashed() bool {
	d.crashing.Lock()
	defer d.crashing.Unlock()
	return d.crash != nil && d.crash.left != nil
}

// Torn is a copy of the disk with, below the directory of the crash that has
// happened, what that left.
func (d *Disk) Torn() (*Disk, error) {
	d.crashing.Lock()
	defer d.crashing.Unlock()
	left := d.Copy()
	err := errors.Join(d.crash.err, left.RemoveAll(d.crash.below), left.MkdirAll(d.crash.below, 0o755))
	for name, content := range d.crash.left { // order: each is a file of its own
		err = errors.Join(err, left.put(name, content))
	}
	return left, errors.Join(err, left.sync(d.crash.below))
}

// syncs is called before a file is synced.
func (d *Disk) syncs(name string) {
	d.crashing.Lock()
	defer d.crashing.Unlock()
	if c := d.crash; c != nil && c.left == nil && strings.HasPrefix(name, c.below+"/") {
		if c.syncs--; c.syncs < 0 {
			c.left, c.err = d.tear(c.below, c.seed)
		}
	}
}

// tear is what a crash now leaves of the files below a directory: all that was
// synced, and of what was not some files and some blocks of the ends of files. Each
// file is drawn for itself, as another goroutine may be removing one.
func (d *Disk) tear(below string, seed uint64) (map[string][]byte, error) {
	synced, all := d.After(0, nil), d.Copy()
	left := map[string][]byte{}
	var errs []error
	for _, name := range append(synced.files(below), all.files(below)...) {
		old, was, err1 := synced.content(name)
		now, is, err2 := all.content(name)
		errs = append(errs, err1, err2)
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(name)) // a hash never fails
		rng := rand.New(rand.NewPCG(seed, sum.Sum64()))
		switch {
		case was && is && bytes.HasPrefix(now, old):
			left[name] = tail(old, now, rng)
		case was && (!is || rng.IntN(2) == 0):
			left[name] = old
		case was || rng.IntN(2) == 0:
			left[name] = now
		}
	}
	return left, errors.Join(errs...)
}

// block is what a disk writes at once, or not at all.
const block = 4096

// tail is what is left of a file: what was synced, and some of the blocks behind,
// with zeros where one is missing before another.
func tail(synced, all []byte, rng *rand.Rand) []byte {
	left := slices.Clone(synced)
	for at := len(synced); at < len(all); at += block {
		if rng.IntN(2) == 0 {
			left = append(left, make([]byte, at-len(left))...)
			left = append(left, all[at:min(at+block, len(all))]...)
		}
	}
	return left
}

// content is what a file holds, if it is there.
func (d *Disk) content(name string) ([]byte, bool, error) {
	f, err := d.MemFS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	b, err := io.ReadAll(f)
	return b, true, errors.Join(err, f.Close())
}

// put makes a file; its directory is not synced.
func (d *Disk) put(name string, content []byte) error {
	f, err := d.MemFS.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
