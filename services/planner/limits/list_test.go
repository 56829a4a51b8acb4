package limits

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
)

// pages are the names of all keys of a kind, by pages of a size, each with its kind.
func pages(t *testing.T, state *rows.Memory, kind string, size uint32) (all []string) {
	t.Helper()
	for cursor := ""; ; {
		r := Machine{}.Query(rows.Begin(state), 5000, &events.Query{Kind: "keys", Workflow: events.KeyPrefix, Filter: kind, Cursor: cursor, Limit: size})
		var l events.KeyList
		if err := json.Unmarshal(r.Body, &l); err != nil || r.Refusal != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if size > 0 && len(l.Items) > int(size) {
			t.Fatalf("a page of %d has %d", size, len(l.Items))
		}
		for _, k := range l.Items {
			all = append(all, fmt.Sprintf("%s/%s %d of %d, %d wait", k.Kind, k.Name, k.Held, k.Limit, k.Queued))
		}
		if cursor = l.Next; cursor == "" {
			return all
		}
	}
}

// Each key that has rows is listed once, whatever the size of the pages, and none that has gone.
func TestKeysAreListedByKindAndName(t *testing.T) {
	w := &world{t: t, now: 5000}
	names := []string{"b", "a", "a/1", "aa", "é", "gone"}
	for n, name := range names {
		w.id = events.KeyOf(events.ConcurrencyKey, name)
		w.tell(events.KeyAsk, asks(1), 2, uint64(n+1))
		w.tell(events.KeyAsk, asks(2), 2, uint64(n+1))
	}
	w.tell(events.KeyReturn, asks(1), 0, 0)
	w.tell(events.KeyReturn, asks(2), 0, 0)
	w.id = events.KeyOf(events.RateKey, "a")
	w.tellOf(events.KeyAsk, asks(1), 2, events.KeyLimit{Limit: 7, Per: 1000})
	concurrency := []string{
		"concurrency/a 2 of 2, 0 wait", "concurrency/a/1 2 of 3, 0 wait", "concurrency/aa 2 of 4, 0 wait",
		"concurrency/b 1 of 1, 1 wait", "concurrency/é 2 of 5, 0 wait",
	}
	rate := []string{"rate/a 1 of 7, 0 wait"}
	for size := range uint32(8) {
		for kind, want := range map[string][]string{"": slices.Concat(concurrency, rate), events.ConcurrencyKey: concurrency, events.RateKey: rate} {
			if got := pages(t, &w.state, kind, size); !slices.Equal(got, want) {
				t.Errorf("kind %q by pages of %d:\n%q, want\n%q", kind, size, got, want)
			}
		}
	}
	for _, name := range names {
		w.id = events.KeyOf(events.ConcurrencyKey, name)
		w.tell(events.KeyReturn, asks(1), 0, 0)
		w.tell(events.KeyReturn, asks(2), 0, 0)
	}
	w.id, w.now = events.KeyOf(events.RateKey, "a"), 7000
	w.fire()
	if left := rowstest.Memory(&w.state); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}

// One answer has a bound, whatever is asked for.
func TestAListOfKeysIsBounded(t *testing.T) {
	w := &world{t: t, now: 5000}
	for n := range mostListed + 50 {
		w.id = events.KeyOf(events.ConcurrencyKey, fmt.Sprintf("%05d", n))
		w.tell(events.KeyAsk, asks(1), 2, 1)
	}
	r := Machine{}.Query(rows.Begin(&w.state), 5000, &events.Query{Kind: "keys", Workflow: events.KeyPrefix, Limit: 1 << 31})
	var l events.KeyList
	if err := json.Unmarshal(r.Body, &l); err != nil || len(l.Items) != mostListed || l.Next == "" {
		t.Errorf("%d keys, next %q, %v", len(l.Items), l.Next, err)
	}
	if n := len(pages(t, &w.state, "", 1000)); n != mostListed+50 {
		t.Errorf("all pages have %d", n)
	}
}
