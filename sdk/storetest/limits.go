package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

// limits holds that what is over a limit is refused, and what is at it is taken.
func limits(t *testing.T, s store.Store) {
	mustAppend(t, s, "a", 0, 1, "one")
	for what, err := range overTheLimits(t, s) {
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s gave the error %v, want ErrInvalid in it", what, err)
		}
	}
	wantLog(t, s, "a", 1, "one")
	wantItems(t, mustList(t, s, store.Filter{}), []store.Item{{ID: "a", End: 1, Epoch: 1}})

	most := store.Snapshot{At: 1, Labels: manyLabels(store.MaxLabels), Data: []byte(large("data", store.MaxSnapshot))}
	mustSave(t, s, "a", 1, most)
	wantSnapshot(t, s, "a", &most)
	wantItems(t, mustList(t, s, store.Filter{Labels: manyLabels(store.MaxFilter), Limit: store.MaxLimit}),
		[]store.Item{{ID: "a", End: 1, Epoch: 1, Snapshot: true, SnapshotAt: 1, Labels: most.Labels}})
	mustAppend(t, s, "b", 0, 1, large("most", store.MaxBatch))
	wantLog(t, s, "b", 1, large("most", store.MaxBatch))
}

func overTheLimits(t *testing.T, s store.Store) map[string]error {
	ctx := t.Context()
	all := map[string]error{
		"an append of too many entries": s.Append(ctx, "a", 1, 1, make([][]byte, store.MaxEntries+1)),
		"an append of too many bytes":   s.Append(ctx, "a", 1, 1, [][]byte{make([]byte, store.MaxBatch), {0}}),
		"a position that is too high":   s.Append(ctx, "a", store.MaxNumber, 1, texts("x")),
		"an epoch that is too high":     s.Append(ctx, "a", 1, store.MaxNumber+1, texts("x")),
		"a snapshot that is too large":  s.SaveSnapshot(ctx, "a", 1, store.Snapshot{Data: make([]byte, store.MaxSnapshot+1)}),
		"a snapshot that is too far":    s.SaveSnapshot(ctx, "a", 1, store.Snapshot{At: store.MaxNumber + 1}),
		"too many labels":               s.SaveSnapshot(ctx, "a", 1, store.Snapshot{Labels: manyLabels(store.MaxLabels + 1)}),
		"a long name":                   s.SaveSnapshot(ctx, "a", 1, store.Snapshot{Labels: map[string]string{strings.Repeat("n", store.MaxLabel+1): ""}}),
		"a long value":                  s.SaveSnapshot(ctx, "a", 1, store.Snapshot{Labels: map[string]string{"n": strings.Repeat("v", store.MaxLabel+1)}}),
		"a NUL in a value":              s.SaveSnapshot(ctx, "a", 1, store.Snapshot{Labels: map[string]string{"n": "a\x00"}}),
		"an epoch of a snapshot":        s.SaveSnapshot(ctx, "a", store.MaxNumber+1, store.Snapshot{}),
		"an epoch of a deletion":        s.Delete(ctx, "a", store.MaxNumber+1),
	}
	for what, id := range map[string]string{"no ID": "", "a long ID": strings.Repeat("i", store.MaxID+1), "a NUL": "a\x00", "no UTF-8": "a\xff"} {
		all[what+" in Append"] = s.Append(ctx, id, 0, 1, texts("x"))
		all[what+" in SaveSnapshot"] = s.SaveSnapshot(ctx, id, 1, store.Snapshot{})
		all[what+" in Delete"] = s.Delete(ctx, id, 1)
		_, all[what+" in Load"] = s.Load(ctx, id, 0)
		_, _, all[what+" in LoadSnapshot"] = s.LoadSnapshot(ctx, id)
		_, all[what+" in Exists"] = s.Exists(ctx, id)
		if id != "" {
			_, all[what+" in a prefix"] = s.List(ctx, store.Filter{Prefix: id}, "")
			_, all[what+" in a cursor"] = s.List(ctx, store.Filter{}, id)
			_, all[what+" in a label"] = s.List(ctx, store.Filter{Labels: map[string]string{id: ""}}, "")
		}
	}
	_, all["a position to load from"] = s.Load(ctx, "a", store.MaxNumber+1)
	_, all["a page that is too large"] = s.List(ctx, store.Filter{Limit: store.MaxLimit + 1}, "")
	_, all["a filter of too many labels"] = s.List(ctx, store.Filter{Labels: manyLabels(store.MaxFilter + 1)}, "")
	_, all["a page below nothing"] = s.List(ctx, store.Filter{Limit: -1}, "")
	return all
}

// manyLabels makes labels as large as they may be.
func manyLabels(n int) map[string]string {
	labels := map[string]string{}
	for i := range n {
		labels[large(string(rune('A'+i/64))+string(rune('A'+i%64)), store.MaxLabel)] = large("v", store.MaxLabel)
	}
	return labels
}
