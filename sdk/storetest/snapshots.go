package storetest

import (
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

func snapshot(t *testing.T, s store.Store) {
	// one of nothing makes the ID exist
	none := store.Snapshot{Data: []byte("of nothing")}
	mustSave(t, s, "new", 3, none)
	wantExists(t, s, "new", true)
	wantSnapshot(t, s, "new", &none)
	wantLog(t, s, "new", 3)
	mustAppend(t, s, "new", 0, 3, "one", "two", "three")
	wantSnapshot(t, s, "new", &none)

	later := store.Snapshot{At: 2, Labels: map[string]string{"status": "running", "": "no name", "ä": ""}, Data: []byte{0, 255}}
	mustSave(t, s, "new", 4, later)
	wantSnapshot(t, s, "new", &later)
	wantLog(t, s, "new", 4, "one", "two", "three")
	again := store.Snapshot{At: 2, Labels: map[string]string{"status": "idle"}} // at the same position the newest counts
	mustSave(t, s, "new", 4, again)
	wantSnapshot(t, s, "new", &again)
	last := store.Snapshot{At: 3, Data: []byte("all")}
	mustSave(t, s, "new", 4, last)
	wantSnapshot(t, s, "new", &last)
	wantItems(t, mustList(t, s, store.Filter{Labels: map[string]string{"status": "idle"}}), nil) // labels went with their snapshot
	wantLog(t, s, "new", 4, "one", "two", "three")
}

func snapshotRefused(t *testing.T, s store.Store) {
	err := s.SaveSnapshot(t.Context(), "a", 1, store.Snapshot{At: 1})
	wantConflict(t, err, store.Conflict{ID: "a", Expected: 1, Actual: 0})
	wantExists(t, s, "a", false)
	mustAppend(t, s, "a", 0, 2, "one", "two", "three")
	stays := store.Snapshot{At: 2, Labels: map[string]string{"l": "v"}, Data: []byte("stays")}
	mustSave(t, s, "a", 2, stays)
	err = s.SaveSnapshot(t.Context(), "a", 3, store.Snapshot{At: 4, Data: []byte("beyond the end")})
	wantConflict(t, err, store.Conflict{ID: "a", Expected: 4, Actual: 3})
	err = s.SaveSnapshot(t.Context(), "a", 3, store.Snapshot{At: 1, Data: []byte("back")})
	wantConflict(t, err, store.Conflict{ID: "a", Expected: 1, Actual: 2})
	err = s.SaveSnapshot(t.Context(), "a", 1, store.Snapshot{At: 3, Data: []byte("fenced")})
	wantFenced(t, err, store.Fenced{ID: "a", Epoch: 1, Current: 2})
	err = s.SaveSnapshot(t.Context(), "a", 1, store.Snapshot{At: 9})
	wantFenced(t, err, store.Fenced{ID: "a", Epoch: 1, Current: 2})
	wantSnapshot(t, s, "a", &stays)
	wantLog(t, s, "a", 2, "one", "two", "three")
}

func deleted(t *testing.T, s store.Store) {
	for _, id := range []string{"a", "a/1", "b"} {
		mustAppend(t, s, id, 0, 5, "one", "two")
		mustSave(t, s, id, 5, store.Snapshot{At: 2, Labels: map[string]string{"l": "v"}, Data: []byte("d")})
	}
	mustDelete(t, s, "a", 5)
	mustDelete(t, s, "a", 1) // is gone, with its epoch
	wantExists(t, s, "a", false)
	wantLog(t, s, "a", 0)
	wantSnapshot(t, s, "a", nil)
	rest := []store.Item{}
	for _, id := range []string{"a/1", "b"} {
		rest = append(rest, store.Item{ID: id, End: 2, Epoch: 5, Snapshot: true, SnapshotAt: 2, Labels: map[string]string{"l": "v"}})
	}
	wantItems(t, mustList(t, s, store.Filter{Labels: map[string]string{"l": "v"}}), rest)
	wantLog(t, s, "a/1", 5, "one", "two")

	mustAppend(t, s, "a", 0, 1, "again") // nothing of before shows in a new life
	wantLog(t, s, "a", 1, "again")
	wantSnapshot(t, s, "a", nil)
	mustDelete(t, s, "b", store.MaxNumber)
	wantItems(t, mustList(t, s, store.Filter{}), []store.Item{{ID: "a", End: 1, Epoch: 1}, rest[0]})
}
