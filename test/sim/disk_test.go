package sim

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
)

// A disk that fills under a planner that runs ends tenures, not the planner, and
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

// A disk whose bytes are not what was written gives no wrong answers: a store
// that is found damaged is made again, whether at its start or by its reader.
func TestRottenDisksAreOutlived(t *testing.T) {
	var said text
	for seed := uint64(1); seed <= 24; seed++ {
		o := options(seed)
		o.Kinds, o.Logger = []string{"rot", "leave"}, slog.New(slog.NewTextHandler(&said, nil))
		if r := Run(o); r.Err != nil {
			t.Errorf("seed %d: %v\nfaults: %v", seed, r.Err, r.Faults)
		}
	}
	for _, how := range []string{"the store cannot be opened", "checksum mismatch"} {
		if !said.has(how) {
			t.Errorf("no planner has met a rotten store of which it says that %s", how)
		}
	}
}

// A process that was killed on a full disk, shortly before the faults end, ends too.
// (Its store tries to write for as long as there is no room, and nothing else lets
// the run end.)
func TestADeadProcessLeavesItsFullDisk(t *testing.T) {
	if r := Run(onBroker(539)); r.Err != nil {
		t.Error(r.Err)
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
