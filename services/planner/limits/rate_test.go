package limits

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
)

// takeOver folds the journal into an empty state, as a new owner does.
func (w *world) takeOver() {
	w.t.Helper()
	before := rowstest.Memory(&w.state)
	w.state = rows.Memory{}
	for _, rec := range w.all {
		tx := rows.Begin(&w.state)
		Machine{}.Apply(tx, rec, true)
		w.state.Commit(tx.Writes())
	}
	if after := rowstest.Memory(&w.state); after != before {
		w.t.Fatalf("the folded journal gives another state:\n%s\nlive:\n%s", after, before)
	}
}

// rest lets all timers come due.
func (w *world) rest() {
	for more := true; more; {
		more = w.fire()
	}
}

// times are when permits were granted, by the records that say so.
func (w *world) times() (all []int64) {
	for _, rec := range w.all {
		for _, e := range rec.Events {
			if _, is := e.(*events.PermitIssued); is {
				all = append(all, rec.Time)
			}
		}
	}
	return all
}

// Requests come at any time, again and again, are withdrawn, and owners change: no time of the rate has more
// permits than its limit, each that is not withdrawn is granted as soon as that allows, and in the end nothing is left.
func TestNoTimeHasMorePermitsThanTheRateSays(t *testing.T) {
	const per = 1000
	for seed := range uint64(80) {
		w, rnd := &world{t: t, now: 1000, kind: events.RateKey}, rand.New(rand.NewPCG(seed, 2))
		limit := events.KeyLimit{Limit: 1 + seed%5, Per: per}
		const requests = 20
		asked, wanted := uint64(0), map[uint64]bool{}
		for asked < requests {
			switch rnd.IntN(6) {
			case 0:
				w.now += rnd.Int64N(per / 2)
			case 1:
				w.fire()
			case 2:
				w.takeOver()
			case 3: // what was granted stays so
				n := 1 + rnd.Uint64N(requests)
				w.tellOf(events.KeyReturn, asks(n), 0, events.KeyLimit{})
				wanted[n] = wanted[n] && slices.Contains(w.granted(), n)
			default:
				asked++
				wanted[asked] = true
				for range 1 + rnd.IntN(2) {
					w.tellOf(events.KeyAsk, asks(asked), 2, limit)
				}
			}
		}
		for w.fire() {
			if rnd.IntN(4) == 0 {
				w.takeOver()
			}
		}
		all := w.times()
		for i := int(limit.Limit); i < len(all); i++ {
			if apart := all[i] - all[i-int(limit.Limit)]; apart < per {
				t.Fatalf("seed %d: %d permits within %d ms, the rate is %d in %d", seed, limit.Limit+1, apart, limit.Limit, per)
			}
		}
		for n, is := range wanted {
			if is && !slices.Contains(w.granted(), n) {
				t.Errorf("seed %d: request %d was never granted", seed, n)
			}
		}
		if left := rowstest.Memory(&w.state); left != "" {
			t.Fatalf("seed %d: rows are left:\n%s", seed, left)
		}
	}
}

// What is free is granted at once, the rest when the oldest is old enough, by priority.
func TestARateGrantsAsSoonAsItMay(t *testing.T) {
	w := &world{t: t, now: 5000, kind: events.RateKey}
	limit := events.KeyLimit{Limit: 2, Per: 60_000}
	ask := func(n uint64, rank uint8) { w.tellOf(events.KeyAsk, asks(n), rank, limit) }
	ask(1, 2)
	w.now = 15_000
	ask(2, 2)
	ask(3, 3)
	ask(4, 2)
	var k events.KeyState
	r := Machine{}.Query(rows.Begin(&w.state), w.now, &events.Query{Workflow: w.key()})
	if err := json.Unmarshal(r.Body, &k); err != nil || k.Held != 2 || k.Queued != 2 || k.Next != events.Stamp(65_000).String() || k.Kind != "rate" || k.Per != 60_000 {
		t.Errorf("the key is %+v, %v", k, err)
	}
	w.rest()
	if got := w.granted(); !slices.Equal(got, []uint64{1, 2, 4, 3}) {
		t.Errorf("granted in the order %v", got)
	}
	if got := w.times(); !slices.Equal(got, []int64{5000, 15_000, 65_000, 75_000}) {
		t.Errorf("granted at %v", got)
	}
}

// A rate that is lowered or raised counts from the next request on, and its rows go with it.
func TestARateMayChange(t *testing.T) {
	w := &world{t: t, now: 5000, kind: events.RateKey}
	for n := range uint64(10) {
		w.tellOf(events.KeyAsk, asks(n+1), 2, events.KeyLimit{Limit: 10, Per: 1000})
	}
	for n := range uint64(4) {
		w.tellOf(events.KeyAsk, asks(n+11), 2, events.KeyLimit{Limit: 2, Per: 1000})
	}
	for more := true; more && len(w.granted()) < 14; {
		more = w.fire()
	}
	w.tellOf(events.KeyAsk, asks(15), 2, events.KeyLimit{Limit: 3, Per: 1000})
	w.rest()
	want := append(slices.Repeat([]int64{5000}, 10), 6000, 6000, 7000, 7000, 7000)
	if got := w.times(); !slices.Equal(got, want) {
		t.Errorf("granted at %v, want %v", got, want)
	}
	if left := rowstest.Memory(&w.state); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}
