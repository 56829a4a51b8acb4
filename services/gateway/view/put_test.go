package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// openTestView opens a view that follows nothing.
func openTestView(t testing.TB, dir string) *View {
	t.Helper()
	return openTestViewOn(t, nil, dir)
}

func openTestViewOn(t testing.TB, fs vfs.FS, dir string) *View {
	t.Helper()
	v := newView(fs, dir, slog.New(slog.DiscardHandler))
	if err := v.openStore(); err != nil {
		t.Fatal(err)
	}
	return v
}

// closeTestView closes it as the gateway does.
func closeTestView(t testing.TB, v *View) {
	t.Helper()
	if err := v.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := v.shut(); err != nil {
		t.Fatal(err)
	}
}

func takeAll(t testing.TB, v *View, records []*kgo.Record) {
	t.Helper()
	if err := v.take(polled(records)); err != nil {
		t.Fatal(err)
	}
}

func polled(records []*kgo.Record) kgo.Fetches {
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "status", Partitions: []kgo.FetchPartition{{Records: records}}}}}}
}

// TestViewHasWhatTheRecordsLeave gives many records of few workflows, older
// ones, deletions and garbage among them, in polls of all sizes, to a view that
// sometimes forgets and sometimes starts again, and compares all that is stored
// with the records taken one by one.
func TestViewHasWhatTheRecordsLeave(t *testing.T) {
	for seed := range uint64(20) {
		dir := t.TempDir()
		v := openTestView(t, dir)
		rnd := rand.New(rand.NewPCG(seed, 0))
		want := map[string]events.Summary{}
		offset := int64(0)
		for range 60 {
			var poll []*kgo.Record
			for range 1 + rnd.IntN(30) {
				offset++
				poll = append(poll, drawRecord(rnd, want, offset))
			}
			takeAll(t, v, poll)
			switch rnd.IntN(6) {
			case 0:
				v.recent = recent{}
			case 1:
				closeTestView(t, v)
				v = openTestView(t, dir)
			}
			got, want := storedKeys(t, v), wantedKeys(t, want)
			if !maps.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("seed %d, offset %d: got %q, want %q", seed, offset, got, want)
			}
			if o, err := v.offset(0); err != nil || o != offset+1 {
				t.Fatalf("seed %d: the offset is %d, %v; want %d", seed, o, err, offset+1)
			}
		}
		closeTestView(t, v)
	}
}

// drawRecord makes a record and tells the model of it.
func drawRecord(rnd *rand.Rand, model map[string]events.Summary, offset int64) *kgo.Record {
	id := fmt.Sprintf("w%d", rnd.IntN(8))
	r := &kgo.Record{Key: []byte(id), Offset: offset}
	switch rnd.IntN(10) {
	case 0:
		delete(model, id)
		return r
	case 1:
		r.Value = []byte([]string{`{`, `null`, `{}`, `[1]`, `{"created_at":"now"}`, "\xff"}[rnd.IntN(6)])
		return r
	}
	s := testStatus(id)
	s.Status = []string{"running", "idle", "failed"}[rnd.IntN(3)]
	s.Definition.Name = []string{"plain", "na\"me", "ключ"}[rnd.IntN(3)]
	s.Created = events.Stamp(1_770_000_000_000 + rnd.Int64N(3))
	s.Position = events.Position{Epoch: 1 + rnd.Uint64N(2), Seq: 1 + rnd.Uint64N(50)}
	r.Value, _ = json.Marshal(s)
	if was, ok := model[id]; !ok || !s.Position.Before(was.Position) {
		model[id] = s
	}
	return r
}

func testStatus(id string) events.Summary {
	return events.Summary{
		ID: id, Run: events.RunID{Epoch: 3, Seq: 100}, Status: "running", Partition: 7, Position: events.Position{Epoch: 3, Seq: 101},
		Definition: events.DefinitionRef{Name: "chain10", Version: "1", Digest: "sha256:00"},
		Created:    1_767_323_045_000, Updated: 1_767_323_045_678,
		Counts: events.Counts{Ready: 1, Completed: 1234567},
	}
}

func storedKeys(t testing.TB, v *View) map[string][]byte {
	t.Helper()
	it, err := v.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for ok := it.First(); ok; ok = it.Next() {
		if !bytes.HasPrefix(it.Key(), offsetKey) {
			all[string(it.Key())] = bytes.Clone(it.Value())
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func wantedKeys(t *testing.T, model map[string]events.Summary) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for id, s := range model {
		r, status := rowOf(t, s)
		all["w/"+id] = append(r.appendTo(nil), status...)
		for _, i := range []index{byTime, byStatus, byDefinition} {
			all[string(i.appendKey(nil, r, []byte(id)))] = nil
		}
	}
	return all
}

func TestUnreadableRowStopsNoOthers(t *testing.T) {
	v := openTestView(t, "")
	if err := v.db.Set([]byte("w/a"), []byte("{}"), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for _, id := range []string{"a", "b"} {
		status, err := json.Marshal(testStatus(id))
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Key: []byte(id), Value: status})
	}
	takeAll(t, v, records)
	got, err := v.get([]byte("w/b"))
	if err != nil || !bytes.HasSuffix(got, records[1].Value) {
		t.Errorf("got %q, %v", got, err)
	}
	closeTestView(t, v)
}

func TestRecentIsBounded(t *testing.T) {
	var r recent
	id := func(i int) []byte { return fmt.Appendf(nil, "w%d", i) }
	const all = 5 * recentWorkflows
	for i := range all {
		r.put(id(i), id(i))
		r.put([]byte("often"), id(i))
	}
	if n := len(r.young) + len(r.old); n > 2*recentWorkflows {
		t.Errorf("it has %d workflows", n)
	}
	for i := range all {
		if got := r.row(id(i)); got != nil && !bytes.Equal(got, id(i)) || got == nil && i >= all-recentWorkflows+1 {
			t.Fatalf("of %d of %d it has %q", i, all, got)
		}
	}
	if got := r.row([]byte("often")); !slices.Equal(got, id(all-1)) {
		t.Errorf("of the one that changes often it has %q", got)
	}
	r.put([]byte("often"), make([]byte, recentBytes))
	if got := r.row([]byte("often")); got != nil {
		t.Errorf("it has a long row, or the one before: %q", got)
	}
}
