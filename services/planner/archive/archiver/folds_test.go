package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// loads are the positions from which logs of runs are loaded.
type loads struct {
	store.Store
	mu   sync.Mutex
	from []uint64
}

func (s *loads) Load(ctx context.Context, id string, from uint64) (store.Log, error) {
	if strings.HasPrefix(id, archive.AllRuns) {
		s.mu.Lock()
		s.from = append(s.from, from)
		s.mu.Unlock()
	}
	return s.Store.Load(ctx, id, from)
}

// Each rest of a run that lives long folds what is new, and loads nothing.
func TestARestFoldsWhatIsNew(t *testing.T) {
	const idle = `{"name":"d","components":{"twice":{"expr":"input * 2"}},"options":{"retain":{"idle":"1h"},"labels":{"team":"blue"}}}`
	r := newRig(t)
	r.planner = planner.New(planner.Config{Key: events.Key("0123456789abcdef"), Definitions: func(string) ([]byte, bool) { return []byte(idle), true }, Archive: true})
	s := &loads{Store: r.store}
	r.starts("a")
	r.archiver(func(c *Config) { c.Store = s })
	for i := range 4 {
		r.command("a", "input", fmt.Sprintf(`{"input":%d}`, i))
		r.comes("it is archived", func() bool { item, _, _ := r.run("a"); return item.SnapshotAt == uint64(i+2) })
		r.is("a", "idle")
		if _, snap, _ := r.run("a"); string(snap.Results) != fmt.Sprintf(`{"twice":%d}`, 2*i) {
			t.Fatalf("the results are %s behind input %d", snap.Results, i)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.from) > 0 {
		t.Fatalf("the run's log is loaded from %v", s.from)
	}
}

// Folds that are at hand are bounded by their bytes, and the one used longest ago goes first.
func TestFoldsAreBounded(t *testing.T) {
	f := newFolds(10)
	var have []string
	put := func(id string, bytes int) { f.put(&folding{id: id, bytes: bytes}) }
	put("a", 4)
	put("b", 4)
	put("a", f.take("a").bytes) // used again
	put("c", 4)
	put("d", 11)
	for _, id := range []string{"a", "b", "c", "d"} {
		if f.take(id) != nil {
			have = append(have, id)
		}
	}
	if f.bytes != 0 || len(f.byID) != 0 || f.order.Len() != 0 || len(have) != 0 {
		t.Fatalf("%v are there, and %d bytes", have, f.bytes)
	}
	put("a", 4)
	put("b", 4)
	put("a", f.take("a").bytes)
	put("c", 4)
	if f.take("b") != nil || f.take("a") == nil || f.take("c") == nil || slices.ContainsFunc([]string{"a", "c"}, func(id string) bool { return f.take(id) != nil }) {
		t.Fatal("another one went than that used longest ago")
	}
}

// shown is a store that notes which run was over and is not any more.
type shown struct {
	store.Store
	mu   sync.Mutex
	back string
}

func (s *shown) SaveSnapshot(ctx context.Context, id string, epoch uint64, snap store.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, _, err := s.LoadSnapshot(ctx, id)
	if before.Labels[archive.LabelOver] == "true" && snap.Labels[archive.LabelOver] != "true" {
		s.back = id
	}
	return errors.Join(err, s.Store.SaveSnapshot(ctx, id, epoch, snap))
}

// What is read again, a piece at a time, is in the store once.
func TestWhatIsReadAgainInPiecesIsThereOnce(t *testing.T) {
	for what, begun := range map[string]bool{"from its beginning": true, "from its middle": false} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			if begun {
				r.starts("b") // which holds the place
			}
			r.starts("a")
			all := func(c *Config) { c.Settings.All = true }
			if !begun {
				stop := r.archiver(all)
				r.all()
				stop()
				r.starts("b")
			}
			r.command("a", "pause", `{}`)
			r.command("a", "resume", `{}`)
			stop := r.archiver(nil)
			r.ends("a")
			r.hears(1)
			stop()
			s := &shown{Store: r.store}
			r.archiver(func(c *Config) { c.Settings.Bytes, c.Store = 1, s })
			r.all()
			r.is("a", "completed")
			if s.back != "" {
				t.Fatalf("the archive forgets for a while that %s is over", s.back)
			}
		})
	}
}
