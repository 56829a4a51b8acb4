package disk_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/test/sim/disk"
)

// A full disk takes no new file, and of a write to an open one a part; with room
// it takes all again.
func TestAFullDiskRefusesWritesToOpenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk.New()
		f, err := d.Create("a", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		d.Fill()
		if _, err := d.Create("b", vfs.WriteCategoryUnspecified); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a new file on a full disk: %v", err)
		}
		if n, err := f.Write([]byte("12345678")); n != 4 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a full disk took %d bytes: %v", n, err)
		}
		d.Free()
		if _, err := f.Write([]byte("90")); err != nil {
			t.Error(err)
		}
		read, err := d.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(read); err != nil || string(b) != "123490" {
			t.Errorf("the file holds %q: %v", b, err)
		}
	})
}

// One file of a disk is damaged, its copy keeps what was there, and both say so.
func TestDamageIsOfOneFileAndSaid(t *testing.T) {
	for name, how := range map[string]func(*disk.Disk, *rand.Rand) (bool, error){"a bit": (*disk.Disk).Flip, "the end": (*disk.Disk).Cut} {
		t.Run(name, func(t *testing.T) {
			d := disk.New()
			rng := rand.New(rand.NewPCG(1, 1))
			if found, err := how(d, rng); found || err != nil {
				t.Errorf("damage of an empty disk: %v, %v", found, err)
			}
			write(t, d, "a", "first")
			write(t, d, "sub/b", "second")
			whole := d.Copy()
			if found, err := how(d, rng); !found || err != nil {
				t.Errorf("damage: %v, %v", found, err)
			}
			differ := 0
			for file, was := range map[string]string{"a": "first", "sub/b": "second"} {
				if read(t, whole, file) != was {
					t.Errorf("the copy of %s holds %q", file, read(t, whole, file))
				}
				if read(t, d.After(0, nil), file) != was {
					differ++
				}
			}
			if differ != 1 || !d.Rotten() || !d.Copy().Rotten() || whole.Rotten() {
				t.Errorf("%d files differ; rotten: %v, its copy %v, the copy before %v", differ, d.Rotten(), d.Copy().Rotten(), whole.Rotten())
			}
		})
	}
}

func write(t *testing.T, d *disk.Disk, name, content string) {
	t.Helper()
	if err := d.MkdirAll(d.PathDir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := d.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	dirs := []string{"", d.PathDir(name)}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		at, err := d.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(at.Sync(), at.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, d *disk.Disk, name string) string {
	t.Helper()
	f, err := d.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
