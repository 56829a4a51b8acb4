package sim

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A full disk takes no new file, and of a write to an open one a part; with room
// it takes all again.
func TestAFullDiskRefusesWritesToOpenFiles(t *testing.T) {
	bubble(func() {
		d := newDisk()
		f, err := d.Create("a", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		d.full.Store(true)
		if _, err := d.Create("b", vfs.WriteCategoryUnspecified); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a new file on a full disk: %v", err)
		}
		if n, err := f.Write([]byte("12345678")); n != 4 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a full disk took %d bytes: %v", n, err)
		}
		d.full.Store(false)
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
