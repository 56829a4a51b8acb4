package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
)

// mostSteps is where a write has more steps than any should, so that Interrupt seems never to end.
const mostSteps = 1000

// closed holds that a store that is closed says so.
func closed(t *testing.T, p Place) {
	s := p.Open(t)
	mustAppend(t, s, "a", 0, 1, "one")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, loaded := s.Load(t.Context(), "a", 0)
	_, _, snapped := s.LoadSnapshot(t.Context(), "a")
	_, listed := s.List(t.Context(), store.Filter{}, "")
	_, existed := s.Exists(t.Context(), "a")
	for call, err := range map[string]error{
		"Append": s.Append(t.Context(), "a", 1, 1, texts("two")), "SaveSnapshot": s.SaveSnapshot(t.Context(), "a", 1, store.Snapshot{}),
		"Delete": s.Delete(t.Context(), "a", 1), "Load": loaded, "LoadSnapshot": snapped, "List": listed, "Exists": existed,
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s of a closed store gave the error %v", call, err)
		}
	}
}

// reopened holds that all is there when the store is opened again.
func reopened(t *testing.T, p Place) {
	if p.Volatile {
		return // closed is forgotten
	}
	snap := store.Snapshot{At: 1, Labels: map[string]string{"l": "v"}, Data: []byte("d")}
	var want []string
	for n := range 4 {
		s := p.Open(t)
		epoch := uint64(n)
		if n > 0 {
			wantLog(t, s, "a", epoch-1, want...)
			wantSnapshot(t, s, "a", &snap)
			wantItems(t, mustList(t, s, store.Filter{}), []store.Item{
				{ID: "a", End: uint64(len(want)), Epoch: epoch - 1, Snapshot: true, SnapshotAt: 1, Labels: snap.Labels},
				{ID: "empty", Epoch: 9},
			})
			wantFenced(t, s.Append(t.Context(), "empty", 0, 8, nil), store.Fenced{ID: "empty", Epoch: 8, Current: 9})
		}
		mustAppend(t, s, "a", uint64(len(want)), epoch, "one of "+fmt.Sprint(n), "")
		want = append(want, "one of "+fmt.Sprint(n), "")
		mustAppend(t, s, "empty", 0, 9)
		mustAppend(t, s, "deleted", 0, 9, "e")
		mustDelete(t, s, "deleted", 9)
		mustSave(t, s, "a", epoch, snap)
		shut(t, s)
	}
}

// before is what is in a log that a torn write meets.
var before = struct {
	entries []string
	snap    store.Snapshot
}{[]string{"one", "two", "three"}, store.Snapshot{At: 1, Labels: map[string]string{"l": "before", "gone": ""}, Data: []byte("before")}}

// interrupted is a row of writes that is interrupted. After n
// of them the log is as after[n] says.
type interrupted struct {
	name  string
	write []func(ctx context.Context, s store.Store, id string) error
	after []state
}

// state is a log as it is found behind an interruption.
type state struct {
	entries []string
	snap    *store.Snapshot
}

var (
	first  = []string{"four", large("five", 40_000), "", large("seven", 70_000)}
	second = []string{"eight", "nine"}
	newer  = store.Snapshot{At: 3, Labels: map[string]string{"l": "newer", "more": ""}, Data: []byte(large("newer", 90_000))}
)

func appends(at int, entries []string) func(context.Context, store.Store, string) error {
	return func(ctx context.Context, s store.Store, id string) error {
		return s.Append(ctx, id, uint64(at), 1, texts(entries...))
	}
}

var interruptions = []interrupted{
	{"append", []func(context.Context, store.Store, string) error{appends(3, first), appends(7, second)}, []state{
		{before.entries, &before.snap},
		{slices.Concat(before.entries, first), &before.snap},
		{slices.Concat(before.entries, first, second), &before.snap},
	}},
	{"snapshot", []func(context.Context, store.Store, string) error{func(ctx context.Context, s store.Store, id string) error {
		return s.SaveSnapshot(ctx, id, 1, newer)
	}}, []state{{before.entries, &before.snap}, {before.entries, &newer}}},
	{"delete", []func(context.Context, store.Store, string) error{func(ctx context.Context, s store.Store, id string) error {
		return s.Delete(ctx, id, 1)
	}, appends(0, second)}, []state{{before.entries, &before.snap}, {nil, nil}, {second, nil}}},
}

// torn interrupts writes at each of their steps: what is there afterwards is what was before, or the
// whole of a write, and at least what was acknowledged.
func torn(t *testing.T, p Place) {
	if p.Volatile {
		return // nothing is left to be torn
	}
	if p.Interrupt == nil {
		t.Fatal("the place has no Interrupt, and is not Volatile")
	}
	for _, w := range interruptions {
		t.Run(w.name, func(t *testing.T) {
			step := 0
			for tear(t, p, w, step) {
				if step++; step == mostSteps {
					t.Fatalf("interrupted at step %d and still not behind the last", step)
				}
			}
			if step == 0 {
				t.Fatal("Interrupt has not interrupted even the first step")
			}
		})
	}
}

// tear interrupts a write at a step and returns whether it was.
func tear(t *testing.T, p Place, w interrupted, step int) bool {
	t.Helper()
	id := fmt.Sprint("torn/", w.name, "/", step)
	s := p.Open(t)
	mustAppend(t, s, id, 0, 1, before.entries...)
	mustSave(t, s, id, 1, before.snap)
	shut(t, s)

	acked := 0
	var refused error
	cut := p.Interrupt(t, step, func(ctx context.Context, s store.Store) {
		for _, write := range w.write {
			err := write(ctx, s, id)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				refused = err
				return
			}
			acked++
		}
	})
	if refused != nil {
		t.Fatalf("step %d: a write that was not interrupted: %v", step, refused)
	}

	s = p.Open(t)
	defer shut(t, s)
	end := settle(t, s, id, 2)
	got := state{entries: mustRead(t, s, id)}
	if snap, ok, err := s.LoadSnapshot(t.Context(), id); err != nil {
		t.Fatal(err)
	} else if ok {
		got.snap = &snap
	}
	n := slices.IndexFunc(w.after, func(want state) bool { return alike(got, want) })
	switch {
	case n < 0:
		t.Fatalf("step %d left the log torn: %d entries %s, snapshot %s", step, len(got.entries), short(got.entries), about(got.snap))
	case n < acked:
		t.Fatalf("step %d: %d writes were acknowledged, and %d are there", step, acked, n)
	case !cut && n != len(w.write):
		t.Fatalf("nothing was interrupted, and %d of %d writes are there", n, len(w.write))
	}
	wantListed(t, s, id, got)
	mustAppend(t, s, id, end, 2, "goes on")
	wantLog(t, s, id, 2, append(got.entries, "goes on")...)
	return cut
}

// wantListed holds that the list has of a log what the log itself has.
func wantListed(t *testing.T, s store.Store, id string, is state) {
	t.Helper()
	want := store.Item{ID: id, End: uint64(len(is.entries)), Epoch: 2}
	f := store.Filter{Prefix: id}
	if is.snap != nil {
		want.Snapshot, want.SnapshotAt, want.Labels = true, is.snap.At, is.snap.Labels
		f.Labels = is.snap.Labels
	}
	wantItems(t, mustList(t, s, f), []store.Item{want})
}

func alike(a, b state) bool {
	return equal(a.entries, b.entries) && (a.snap == nil) == (b.snap == nil) && (a.snap == nil || same(*a.snap, *b.snap))
}

func about(s *store.Snapshot) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("at %d with %d bytes and %s", s.At, len(s.Data), strings.TrimPrefix(fmt.Sprint(s.Labels), "map"))
}
