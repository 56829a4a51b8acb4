package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

func absentIsEmpty(t *testing.T, s store.Store) {
	wantLog(t, s, "nobody", 0)
	wantSnapshot(t, s, "nobody", nil)
	wantExists(t, s, "nobody", false)
	wantItems(t, mustList(t, s, store.Filter{}), nil)
	mustDelete(t, s, "nobody", 0)
	wantExists(t, s, "nobody", false)
}

func appendAndLoad(t *testing.T, s store.Store) {
	mustAppend(t, s, "a", 0, 1, "one", "", "three\x00\xff")
	mustAppend(t, s, "b", 0, 7, "other")
	mustAppend(t, s, "a", 3, 1)
	mustAppend(t, s, "a", 3, 2, "four")
	wantLog(t, s, "a", 2, "one", "", "three\x00\xff", "four")
	wantLog(t, s, "b", 7, "other")
	wantExists(t, s, "a", true)
	for from, want := range []string{"one", "", "three\x00\xff", "four"} {
		part, err := s.Load(t.Context(), "a", uint64(from))
		if err != nil || part.From != uint64(from) || part.End != 4 || part.Epoch != 2 || len(part.Entries) == 0 || string(part.Entries[0]) != want {
			t.Fatalf("Load from %d gave %+v, %v; want %q first, end 4, epoch 2", from, part, err, want)
		}
	}
	part, err := s.Load(t.Context(), "a", 9)
	if err != nil || len(part.Entries) != 0 || part.End != 4 {
		t.Fatalf("Load from behind the end gave %+v, %v; want nothing, and the end 4", part, err)
	}
	// IDs that might be mixed up, where keys are put together
	awkward := []string{"a/", "a/1", "a\x01", "A", "%", "_", "' OR 1=1", "ä", "\U0010FFFF", strings.Repeat("i", store.MaxID)}
	for i, id := range awkward {
		mustAppend(t, s, id, 0, uint64(i), "of "+id)
	}
	for i, id := range awkward {
		wantLog(t, s, id, uint64(i), "of "+id)
	}
	wantLog(t, s, "a", 2, "one", "", "three\x00\xff", "four")
}

// loadInParts has a log that no adapter should give at once, with entries about as large as a part.
func loadInParts(t *testing.T, s store.Store) {
	var want []string
	for i, size := range []int{100, 5 << 20, 3 << 20, 100, 9 << 20, 0, 6 << 20, 2 << 20} {
		entry := ""
		if size > 0 {
			entry = large(fmt.Sprint(i, " "), size)
		}
		mustAppend(t, s, "large", uint64(len(want)), 1, entry)
		want = append(want, entry)
	}
	wantLog(t, s, "large", 1, want...)
	// most entries that a batch may have, and more than a part should
	many := make([]string, store.MaxEntries)
	for i := range many {
		many[i] = fmt.Sprint("entry ", i)
	}
	mustAppend(t, s, "many", 0, 1, many...)
	mustAppend(t, s, "many", store.MaxEntries, 1, "and one")
	wantLog(t, s, "many", 1, append(many, "and one")...)
}

// nothingIsShared changes what was given and what was returned.
func nothingIsShared(t *testing.T, s store.Store) {
	entries := texts("one", "two")
	labels := map[string]string{"name": "value"}
	data := []byte("data")
	if err := s.Append(t.Context(), "a", 0, 1, entries); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveSnapshot(t.Context(), "a", 1, store.Snapshot{At: 1, Labels: labels, Data: data}); err != nil {
		t.Fatal(err)
	}
	spoil := func(entries [][]byte, labels map[string]string, data []byte) {
		for i := range entries {
			copy(entries[i], "??????")
			entries[i] = nil
		}
		labels["name"], labels["more"] = "??????", ""
		copy(data, "??????")
	}
	spoil(entries, labels, data)
	want := store.Snapshot{At: 1, Labels: map[string]string{"name": "value"}, Data: []byte("data")}
	for range 2 {
		wantLog(t, s, "a", 1, "one", "two")
		wantSnapshot(t, s, "a", &want)
		items := mustList(t, s, store.Filter{})
		wantItems(t, items, []store.Item{{ID: "a", End: 2, Epoch: 1, Snapshot: true, SnapshotAt: 1, Labels: want.Labels}})
		part, err := s.Load(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		snap, _, err := s.LoadSnapshot(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		spoil(part.Entries, snap.Labels, snap.Data)
		spoil(nil, items[0].Labels, nil)
	}
}

func conflict(t *testing.T, s store.Store) {
	err := s.Append(t.Context(), "a", 1, 5, texts("x"))
	wantConflict(t, err, store.Conflict{ID: "a", Expected: 1, Actual: 0})
	wantExists(t, s, "a", false) // what is refused leaves nothing
	mustAppend(t, s, "a", 0, 5, "one", "two")
	for _, at := range []uint64{0, 1, 3, store.MaxNumber - 1} {
		err := s.Append(t.Context(), "a", at, 6, texts("x"))
		wantConflict(t, err, store.Conflict{ID: "a", Expected: at, Actual: 2})
		err = s.Append(t.Context(), "a", at, 6, nil)
		wantConflict(t, err, store.Conflict{ID: "a", Expected: at, Actual: 2})
	}
	wantLog(t, s, "a", 5, "one", "two") // a higher epoch that met a conflict is not kept either
	mustAppend(t, s, "a", 2, 5, "three")
	wantLog(t, s, "a", 5, "one", "two", "three")
}

func fenced(t *testing.T, s store.Store) {
	mustAppend(t, s, "a", 0, 3, "one")
	mustAppend(t, s, "a", 1, 8, "two")
	mustAppend(t, s, "b", 0, 2, "not fenced")
	for _, at := range []uint64{2, 0, 9} { // that it is fenced counts more than a conflict
		err := s.Append(t.Context(), "a", at, 7, texts("x"))
		wantFenced(t, err, store.Fenced{ID: "a", Epoch: 7, Current: 8})
	}
	wantFenced(t, s.SaveSnapshot(t.Context(), "a", 7, store.Snapshot{At: 1}), store.Fenced{ID: "a", Epoch: 7, Current: 8})
	wantFenced(t, s.Delete(t.Context(), "a", 7), store.Fenced{ID: "a", Epoch: 7, Current: 8})
	wantLog(t, s, "a", 8, "one", "two")
	wantSnapshot(t, s, "a", nil)
	mustAppend(t, s, "a", 2, 8, "three")
	mustAppend(t, s, "a", 3, store.MaxNumber, "four")
	wantFenced(t, s.Append(t.Context(), "a", 4, store.MaxNumber-1, nil), store.Fenced{ID: "a", Epoch: store.MaxNumber - 1, Current: store.MaxNumber})
	wantLog(t, s, "a", store.MaxNumber, "one", "two", "three", "four")
}

// claimFences: an append of no entries fences what is below its epoch, also where nothing was yet.
func claimFences(t *testing.T, s store.Store) {
	mustAppend(t, s, "new", 0, 4)
	wantExists(t, s, "new", true)
	wantLog(t, s, "new", 4)
	wantFenced(t, s.Append(t.Context(), "new", 0, 3, texts("x")), store.Fenced{ID: "new", Epoch: 3, Current: 4})
	mustAppend(t, s, "new", 0, 4, "one")
	mustAppend(t, s, "new", 1, 5)
	wantFenced(t, s.Append(t.Context(), "new", 1, 4, texts("x")), store.Fenced{ID: "new", Epoch: 4, Current: 5})
	mustSave(t, s, "new", 6, store.Snapshot{At: 1})
	wantFenced(t, s.Append(t.Context(), "new", 1, 5, texts("x")), store.Fenced{ID: "new", Epoch: 5, Current: 6})
	wantLog(t, s, "new", 6, "one")
}

// ended calls with a context that is over.
func ended(t *testing.T, s store.Store) {
	mustAppend(t, s, "a", 0, 1, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, loaded := s.Load(ctx, "a", 0)
	_, _, snapped := s.LoadSnapshot(ctx, "a")
	_, listed := s.List(ctx, store.Filter{}, "")
	_, existed := s.Exists(ctx, "a")
	for call, err := range map[string]error{
		"Append": s.Append(ctx, "a", 1, 2, texts("x")), "SaveSnapshot": s.SaveSnapshot(ctx, "a", 2, store.Snapshot{}), "Delete": s.Delete(ctx, "a", 2),
		"Load": loaded, "LoadSnapshot": snapped, "List": listed, "Exists": existed,
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended gave the error %v", call, err)
		}
	}
	wantLog(t, s, "a", 1, "one")
	wantSnapshot(t, s, "a", nil)
}
