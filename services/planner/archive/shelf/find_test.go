package shelf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// snapshots are how many snapshots are loaded.
type snapshots struct {
	store.Store
	loaded int
}

func (s *snapshots) LoadSnapshot(ctx context.Context, id string) (store.Snapshot, bool, error) {
	s.loaded++
	return s.Store.LoadSnapshot(ctx, id)
}

// keep puts a run of so many bytes of results into a store, last written at a time.
func keep(t *testing.T, s store.Store, run archive.Run, updated int64, results int) {
	t.Helper()
	sum := events.Summary{ID: run.Workflow, Run: run.Start, Status: "completed", Updated: events.Stamp(updated)}
	short, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	snap := archive.Snapshot{Summary: short, Results: json.RawMessage(`"` + strings.Repeat("x", results) + `"`), Whole: true, Over: true}
	data, err := snap.Encode()
	if err != nil {
		t.Fatal(err)
	}
	id := archive.RunID(run)
	if err := errors.Join(
		s.Append(t.Context(), id, 0, 1, [][]byte{{1}}),
		s.SaveSnapshot(t.Context(), id, 1, store.Snapshot{At: 1, Labels: snap.Labels(&sum), Data: data}),
	); err != nil {
		t.Fatal(err)
	}
}

// The newest of a workflow's runs is found by what they are called, but for those of other journals: of each of them the newest one's
// snapshot is looked at.
func TestTheNewestRunIsFound(t *testing.T) {
	s := &snapshots{Store: memory.New()}
	for seq := range uint64(20) {
		keep(t, s, archive.Run{Workflow: "w", Start: events.RunID{Epoch: 1, Seq: seq + 2}, Journal: "aaaa"}, 100, 1)
	}
	shelf := &Shelf{s}
	f, err := shelf.find(t.Context(), "w", "")
	if err != nil || f.run.Start.Seq != 21 || s.loaded != 0 {
		t.Fatalf("found %+v, %v by %d snapshots", f, err, s.loaded)
	}
	keep(t, s, archive.Run{Workflow: "w", Start: events.RunID{Epoch: 1, Seq: 2}, Journal: "bbbb"}, 200, 1)
	f, err = shelf.find(t.Context(), "w", "")
	if err != nil || f.run.Journal != "bbbb" || s.loaded != 2 {
		t.Fatalf("found %+v, %v by %d snapshots", f, err, s.loaded)
	}
	f, err = shelf.find(t.Context(), "w", "1.7~aaaa")
	if err != nil || f.run.Start.Seq != 7 {
		t.Fatalf("found %+v, %v", f, err)
	}
	for i := range mostJournals {
		keep(t, s, archive.Run{Workflow: "w", Start: events.RunID{Epoch: 1, Seq: 2}, Journal: fmt.Sprintf("%04d", i)}, 1, 1)
	}
	var refused *Error
	if _, err := shelf.find(t.Context(), "w", ""); !errors.As(err, &refused) || refused.Code != "ambiguous_run" {
		t.Fatalf("one of too many journals is found: %v", err)
	}
}

// A list looks at so many bytes at a time, and goes on by its cursor.
func TestAListIsBoundedByBytes(t *testing.T) {
	const runs, results = 20, 4 << 20
	s := memory.New()
	for i := range runs {
		keep(t, s, archive.Run{Workflow: fmt.Sprintf("w%02d", i), Start: events.RunID{Epoch: 1, Seq: 2}, Journal: "aaaa"}, 1, results)
	}
	shelf := &Shelf{s}
	seen, pages := 0, 0
	for cursor := ""; ; pages++ {
		items, next, looked, err := shelf.List(t.Context(), search.Filter{}, cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(items) * results; n > mostLookedBytes+results {
			t.Fatalf("%d bytes are looked at", n)
		}
		if next != "" && looked != len(items) {
			t.Fatalf("a page of %d items ends behind %d", len(items), looked)
		}
		seen += len(items)
		if cursor = next; cursor == "" {
			break
		}
	}
	if seen != runs || pages < 2 {
		t.Fatalf("%d runs are listed in %d pages, want %d", seen, pages+1, runs)
	}
}
