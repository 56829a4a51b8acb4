package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

func listOrder(t *testing.T, s store.Store) {
	ids := []string{"\x01", " ", "A", "B", "Z", "a", "a\x01", "a%", "a/1", "a/10", "a/2", "aa", "a_b", "az", "b", "ä", "äa", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010FFFF", "\U0010FFFF\U0010FFFF"}
	slices.Sort(ids)
	for i := range ids { // in an order of its own
		mustAppend(t, s, ids[(i*7)%len(ids)], 0, 1, "e")
	}
	for _, prefix := range append([]string{"", "a/1", "none", "%"}, ids...) {
		var want []store.Item
		for _, id := range ids {
			if strings.HasPrefix(id, prefix) {
				want = append(want, store.Item{ID: id, End: 1, Epoch: 1})
			}
		}
		for _, limit := range []int{0, 1, 2, len(want), store.MaxLimit} {
			wantItems(t, mustList(t, s, store.Filter{Prefix: prefix, Limit: limit}), want)
		}
	}
	// a cursor is a place, whether or not a log is there, and whatever the prefix
	for _, prefix := range []string{"", "a", "a/"} {
		for _, cursor := range []string{"\x01", "0", "A", "a", "a/1", "a/11", "b", "zz", "\U0010FFFF\U0010FFFF"} {
			var want []store.Item
			for _, id := range ids {
				if id > cursor && strings.HasPrefix(id, prefix) {
					want = append(want, store.Item{ID: id, End: 1, Epoch: 1})
				}
			}
			wantItems(t, listFrom(t, s, store.Filter{Prefix: prefix}, cursor), want)
		}
	}
}

func listLabels(t *testing.T, s store.Store) {
	have := map[string]map[string]string{
		"both":    {"status": "failed", "tenant": "a"},
		"failed":  {"status": "failed"},
		"tenant":  {"tenant": "a", "": ""},
		"swapped": {"failed": "status", "a": "tenant"},
		"other":   {"status": "failed ", "tenant": "A", "Status": "failed"},
		"none":    {},
	}
	for id, labels := range have {
		mustAppend(t, s, id, 0, 1, "e")
		mustSave(t, s, id, 1, store.Snapshot{At: 1, Labels: labels})
	}
	mustAppend(t, s, "unsaved", 0, 1, "e")
	for _, c := range []struct {
		labels map[string]string
		want   string
	}{
		{nil, "both failed none other swapped tenant unsaved"},
		{map[string]string{"status": "failed"}, "both failed"},
		{map[string]string{"status": "failed", "tenant": "a"}, "both"},
		{map[string]string{"status": "failed", "tenant": "A"}, ""},
		{map[string]string{"": ""}, "tenant"},
		{map[string]string{"status": ""}, ""},
		{map[string]string{"failed": "status"}, "swapped"},
	} {
		for _, limit := range []int{0, 1} {
			var got []string
			for _, item := range mustList(t, s, store.Filter{Labels: c.labels, Limit: limit}) {
				got = append(got, item.ID)
				if want := (store.Item{ID: item.ID, End: 1, Epoch: 1, Snapshot: item.ID != "unsaved", Labels: have[item.ID]}); item.SnapshotAt > 1 || !sameItem(withAt(want), item) {
					t.Fatalf("listed %+v, want %+v", item, withAt(want))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Fatalf("with the labels %q are %q, want %q", c.labels, got, c.want)
			}
		}
	}
	p := mustList(t, s, store.Filter{Prefix: "f", Labels: map[string]string{"status": "failed"}})
	if len(p) != 1 || p[0].ID != "failed" {
		t.Fatalf("what begins with f and has failed is %+v", p)
	}
}

func withAt(i store.Item) store.Item {
	if i.Snapshot {
		i.SnapshotAt = 1
	}
	return i
}

// listWhileWritten: what stays is in exactly one page, whatever comes and goes between them.
func listWhileWritten(t *testing.T, s store.Store) {
	const stay = 40
	for i := range stay {
		mustAppend(t, s, fmt.Sprintf("stay/%03d", i*10), 0, 1, "e")
		mustAppend(t, s, fmt.Sprintf("stay/%03d/goes", i*10), 0, 1, "e")
	}
	seen := map[string]int{}
	n := 0
	for cursor := ""; ; n++ {
		p, err := s.List(t.Context(), store.Filter{Prefix: "stay/", Limit: 3}, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range p.Items {
			seen[item.ID]++
		}
		if p.Next == "" {
			break
		}
		cursor = p.Next
		mustDelete(t, s, fmt.Sprintf("stay/%03d/goes", (n*70)%400), 1)
		mustAppend(t, s, fmt.Sprintf("stay/%03d/%d", (n*130)%400, n), 0, 1, "e")
	}
	for i := range stay {
		if id := fmt.Sprintf("stay/%03d", i*10); seen[id] != 1 {
			t.Errorf("%s, which was there all the time, is in %d pages", id, seen[id])
		}
	}
	if n < 5 {
		t.Errorf("%d pages", n)
	}
}
