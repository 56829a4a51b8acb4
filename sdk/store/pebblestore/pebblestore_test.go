package pebblestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/storetest"
)

const dir = "runs"

func TestConformance(t *testing.T) { storetest.Run(t, place) }

// place is a disk of which a crash keeps what was synced, and of the rest nothing, a part, or all.
func place(testing.TB) storetest.Place {
	disk := vfs.NewCrashableMem()
	return storetest.Place{
		Open: func(t testing.TB) store.Opened { return opened(t, disk) },
		Interrupt: func(t testing.TB, step int, do func(context.Context, store.Store)) bool {
			kept := []int{0, 50, 100}[step%3]
			c := &crash{disk: disk, step: step / 3, keep: vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(uint64(step), 1))}}
			s := opened(t, errorfs.Wrap(disk, errorfs.InjectorFunc(c.before)))
			var ctx context.Context
			ctx, c.cut = context.WithCancel(t.Context())
			defer c.cut()
			c.arm()
			do(ctx, s)
			after := c.disarm()
			if err := s.Close(); err != nil { // on the disk that the crash has left behind
				t.Fatal(err)
			}
			if after == nil {
				return false
			}
			disk = after
			return true
		},
	}
}

func opened(t testing.TB, fs vfs.FS) store.Opened {
	t.Helper()
	s, err := openOn(fs, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crash keeps what a crash leaves of a disk before one of the operations that write.
type crash struct {
	mu    sync.Mutex
	disk  *vfs.MemFS
	keep  vfs.CrashCloneCfg
	armed bool
	step  int
	left  *vfs.MemFS
	cut   func()
}

func (c *crash) before(op errorfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if c.step == 0 {
		c.left = c.disk.CrashClone(c.keep)
		c.cut()
	}
	c.step--
	return nil
}

func (c *crash) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
}

func (c *crash) disarm() *vfs.MemFS {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	return c.left
}

// A disk that fails gives the store up, and ends no process.
func TestADiskThatFails(t *testing.T) {
	disk := vfs.NewMem()
	failed := errors.New("no room on the disk")
	var fail errorfs.Toggle
	fail.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
			return failed
		}
		return nil
	})
	s := opened(t, errorfs.Wrap(disk, &fail))
	entries := [][]byte{[]byte("one")}
	if err := s.Append(t.Context(), "a", 0, 1, entries); err != nil {
		t.Fatal(err)
	}
	fail.On()
	if err := s.Append(t.Context(), "a", 1, 1, entries); !errors.Is(err, failed) {
		t.Fatalf("an append that the disk does not take answers %v", err)
	}
	fail.Off()
	if _, err := s.Load(t.Context(), "a", 0); !errors.Is(err, failed) {
		t.Fatalf("a store that is given up answers %v", err)
	}
	if err := s.Append(t.Context(), "a", 1, 1, entries); !errors.Is(err, failed) {
		t.Fatalf("a store that is given up answers %v", err)
	}
	if err := s.Close(); !errors.Is(err, failed) {
		t.Fatalf("closing a store that is given up answers %v", err)
	}
}

func TestADirectoryIsOpenOnce(t *testing.T) {
	o := Options{Dir: t.TempDir() + "/made/here"}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := New(o); err == nil {
		t.Errorf("it is opened twice: %v", second)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), "pebble:"+o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "pebble:"); err == nil {
		t.Error("an address without a directory is opened")
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	disk := vfs.NewMem()
	s := opened(t, disk).(*db)
	if err := s.pebble.Set([]byte{formatKey}, []byte("heddle store 2"), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openOn(disk, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), `"heddle store 2"`) {
		t.Errorf("opened with %v", err)
	}
}

// An entry that is missing is told, and not left out.
func TestWhatIsMissingIsTold(t *testing.T) {
	s := opened(t, vfs.NewMem()).(*db)
	defer s.Close()
	if err := s.Append(t.Context(), "a", 0, 1, [][]byte{{1}, {2}, {3}}); err != nil {
		t.Fatal(err)
	}
	if err := s.pebble.Delete(keyOfEntry("a", 1), nil); err != nil {
		t.Fatal(err)
	}
	if log, err := s.Load(t.Context(), "a", 0); err == nil {
		t.Errorf("the log is given without an entry: %v", log)
	}
}

// A deletion leaves no key behind.
func TestADeletionLeavesNothing(t *testing.T) {
	s := opened(t, vfs.NewMem()).(*db)
	defer s.Close()
	for _, id := range []string{"a", "b"} {
		if err := s.Append(t.Context(), id, 0, 1, [][]byte{{1}, {2}}); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveSnapshot(t.Context(), id, 1, store.Snapshot{At: 1, Data: []byte{1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	it, err := s.pebble.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var keys []string
	for ok := it.First(); ok; ok = it.Next() {
		keys = append(keys, string(it.Key()[:min(2, len(it.Key()))]))
	}
	if got := strings.Join(keys, " "); got != "eb eb f hb sb" {
		t.Errorf("the keys begin with %s", got)
	}
}

func FuzzHead(f *testing.F) {
	f.Add(head{end: 3, epoch: 2}.encode())
	f.Add(head{end: 300, epoch: store.MaxNumber, snapshot: true, at: 7, labels: map[string]string{"": "v", "n": ""}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHead(b)
		if err != nil {
			return
		}
		if again := h.encode(); string(again) != string(b) {
			t.Errorf("%x is read, and written as %x", b, again)
		}
	})
}
