package storetest

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/heddle-run/heddle/sdk/store"
)

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

func mustAppend(t tester, s store.Store, id string, at, epoch uint64, entries ...string) {
	t.Helper()
	if err := s.Append(t.Context(), id, at, epoch, texts(entries...)); err != nil {
		t.Fatalf("appending %d entries to %q at %d in epoch %d: %v", len(entries), id, at, epoch, err)
	}
}

func mustSave(t tester, s store.Store, id string, epoch uint64, snap store.Snapshot) {
	t.Helper()
	if err := s.SaveSnapshot(t.Context(), id, epoch, snap); err != nil {
		t.Fatalf("saving a snapshot at %d of %q in epoch %d: %v", snap.At, id, epoch, err)
	}
}

func mustDelete(t tester, s store.Store, id string, epoch uint64) {
	t.Helper()
	if err := s.Delete(t.Context(), id, epoch); err != nil {
		t.Fatalf("deleting %q in epoch %d: %v", id, epoch, err)
	}
}

// wantLog holds a whole log, read in parts, against what it should be.
func wantLog(t tester, s store.Store, id string, epoch uint64, entries ...string) {
	t.Helper()
	got := mustRead(t, s, id)
	if !equal(got, entries) {
		t.Fatalf("the log %q has %d entries %s, want %d: %s", id, len(got), short(got), len(entries), short(entries))
	}
	part, err := s.Load(t.Context(), id, uint64(len(entries)))
	if err != nil || len(part.Entries) != 0 || part.End != uint64(len(entries)) || part.Epoch != epoch {
		t.Fatalf("behind the end of the log %q: %d entries, end %d, epoch %d, %v; want none, end %d, epoch %d",
			id, len(part.Entries), part.End, part.Epoch, err, len(entries), epoch)
	}
}

func mustRead(t tester, s store.Store, id string) []string {
	t.Helper()
	var all []string
	for e, err := range store.Entries(t.Context(), s, id, 0) {
		if err != nil {
			t.Fatalf("%v", err)
		}
		if e == nil {
			t.Fatalf("entry %d of %q is nil", len(all), id)
		}
		all = append(all, string(e))
	}
	return all
}

// wantSnapshot holds the snapshot of a log against what it should be; nil: there is none.
func wantSnapshot(t tester, s store.Store, id string, want *store.Snapshot) {
	t.Helper()
	got, ok, err := s.LoadSnapshot(t.Context(), id)
	if err != nil {
		t.Fatalf("loading the snapshot of %q: %v", id, err)
	}
	if ok != (want != nil) || ok && !same(got, *want) {
		t.Fatalf("the snapshot of %q is %+v (%t), want %+v", id, got, ok, want)
	}
}

func same(a, b store.Snapshot) bool {
	return a.At == b.At && string(a.Data) == string(b.Data) && maps.Equal(a.Labels, b.Labels)
}

func wantExists(t tester, s store.Store, id string, want bool) {
	t.Helper()
	if got, err := s.Exists(t.Context(), id); err != nil || got != want {
		t.Fatalf("Exists(%q) = %t, %v, want %t", id, got, err, want)
	}
}

func wantConflict(t tester, err error, want store.Conflict) {
	t.Helper()
	var got *store.Conflict
	if !errors.As(err, &got) || *got != want {
		t.Fatalf("got the error %v, want %v", err, &want)
	}
}

func wantFenced(t tester, err error, want store.Fenced) {
	t.Helper()
	var got *store.Fenced
	if !errors.As(err, &got) || *got != want {
		t.Fatalf("got the error %v, want %v", err, &want)
	}
}

// mustList reads all pages of a list.
func mustList(t tester, s store.Store, f store.Filter) []store.Item {
	t.Helper()
	return listFrom(t, s, f, "")
}

// listFrom reads the pages of a list that are behind a cursor.
func listFrom(t tester, s store.Store, f store.Filter, cursor string) []store.Item {
	t.Helper()
	for all := []store.Item(nil); ; {
		p, err := s.List(t.Context(), f, cursor)
		if err != nil {
			t.Fatalf("listing %+v from %q: %v", f, cursor, err)
		}
		limit := f.Limit
		if limit == 0 {
			limit = store.DefaultLimit
		}
		if len(p.Items) > limit {
			t.Fatalf("a page of %d items, where the limit is %d", len(p.Items), limit)
		}
		all = append(all, p.Items...)
		if p.Next == "" {
			return all
		}
		if p.Next <= cursor {
			t.Fatalf("the page from %q leads to %q, which is not behind it", cursor, p.Next)
		}
		cursor = p.Next
	}
}

// wantItems holds items against what they should be.
func wantItems(t tester, got, want []store.Item) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("item %d, %+v, is not listed", i, want[i])
		case i >= len(want):
			t.Fatalf("item %d, %+v, should not be listed", i, got[i])
		case !sameItem(got[i], want[i]):
			t.Fatalf("item %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func sameItem(a, b store.Item) bool {
	return a.ID == b.ID && a.End == b.End && a.Epoch == b.Epoch && a.Snapshot == b.Snapshot &&
		a.SnapshotAt == b.SnapshotAt && maps.Equal(a.Labels, b.Labels)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// short is a list of entries as an error has it.
func short(all []string) string {
	var b strings.Builder
	for i, s := range all {
		if i == 12 {
			b.WriteString(" …")
			break
		}
		b.WriteString(" " + s[:min(len(s), 12)])
	}
	return "[" + strings.TrimSpace(b.String()) + "]"
}
