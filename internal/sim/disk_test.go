package sim

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"sync"
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

// A disk that fills under a planner that runs ends reigns, not the planner, and
// the run is decided by its seed all the same.
func TestFullDisksAreOutlived(t *testing.T) {
	var said text
	for seed := uint64(1); seed <= 8; seed++ {
		o := options(seed)
		o.Kinds, o.Logger = []string{"full", "freeze", "kill"}, slog.New(slog.NewTextHandler(&said, nil))
		a, b := Run(o), Run(o)
		if a.Err != nil {
			t.Errorf("seed %d: %v", seed, a.Err)
		}
		if a.Digest != b.Digest {
			t.Errorf("seed %d gives %x and %x", seed, a.Digest, b.Digest)
		}
	}
	if !said.has("no space left") {
		t.Error("no planner has met a full disk")
	}
}

// text is what a logger has written, from any goroutine.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *text) has(part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.b.Bytes(), []byte(part))
}
