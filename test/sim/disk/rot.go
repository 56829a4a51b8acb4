package disk

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Rot changes bytes at the beginning of all tables, or of all other files: of
// what says which tables there are. The first row of a table is there.
func (d *Disk) Rot(tables bool) error {
	var errs []error
	for _, name := range d.files("") {
		if tables == strings.HasSuffix(name, ".sst") {
			errs = append(errs, d.change(name, func(b []byte) []byte {
				if len(b) > 16 {
					copy(b[8:], []byte{0xde, 0xad, 0xbe, 0xef})
				}
				return b
			}))
		}
	}
	return errors.Join(errs...)
}

// Flip changes one bit of one file, and Cut takes the end off one; each reports
// whether there was a file to damage.
func (d *Disk) Flip(rng *rand.Rand) (bool, error) {
	return d.damage(rng, func(b []byte) []byte {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		return b
	})
}

// Cut takes the end off one file. See Flip.
func (d *Disk) Cut(rng *rand.Rand) (bool, error) {
	return d.damage(rng, func(b []byte) []byte { return b[:rng.IntN(len(b))] })
}

// damage changes the content of one file that is not empty.
func (d *Disk) damage(rng *rand.Rand, how func([]byte) []byte) (bool, error) {
	all := slices.DeleteFunc(d.files(""), func(name string) bool {
		info, err := d.Stat(name)
		return err != nil || info.Size() == 0
	})
	if len(all) == 0 {
		return false, nil
	}
	return true, d.change(all[rng.IntN(len(all))], how)
}

// files are all files below a directory, in order.
func (d *Disk) files(dir string) []string {
	names, err := d.List(dir)
	if err != nil {
		return nil // it is gone
	}
	slices.Sort(names)
	var all []string
	for _, name := range names {
		at := d.PathJoin(dir, name)
		if info, err := d.Stat(at); err == nil && info.IsDir() {
			all = append(all, d.files(at)...)
		} else if err == nil {
			all = append(all, at)
		}
	}
	return all
}

// change exchanges what a file holds, durably.
func (d *Disk) change(name string, how func([]byte) []byte) error {
	d.rotten = true
	f, err := d.MemFS.Open(name)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return errors.Join(d.put(name, how(b)), d.sync(d.PathDir(name)))
}

func (d *Disk) sync(dir string) error {
	f, err := d.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
