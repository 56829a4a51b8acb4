package limits

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/rows/rowstest"
)

const reset = 10_000 // ms, of the breakers here

func breakerWorld(t *testing.T) *world { return &world{t: t, now: 1000, kind: events.BreakerKey} }

// asks3 asks a breaker that three failures in a row open.
func (w *world) asks3(n uint64, fails bool) {
	w.t.Helper()
	w.tellOf(events.KeyAsk, asks(n), 2, events.KeyLimit{Limit: 3, Per: reset, Fails: fails})
}

// ends says what the attempts of requests have come to.
func (w *world) ends(verdict events.Verdict, all ...uint64) {
	w.t.Helper()
	for _, n := range all {
		w.hear(asks(n), events.KeyMessage{Verb: events.KeyReturn, Verdict: verdict})
	}
}

func (w *world) breaker() breaker {
	h := rows.Get[head](rows.Begin(&w.state), headKey(w.key()))
	if h == nil {
		return breaker{}
	}
	return h.Breaker
}

func (w *world) is(state events.BreakerState, failures uint64) {
	w.t.Helper()
	if b := w.breaker(); b.State != state || b.Failures != failures {
		w.t.Fatalf("it is %s after %d failures, want %s after %d", b.State, b.Failures, state, failures)
	}
}

// Failures count in a row, each once however often its return comes, and only those of permits that were granted in the
// state that stands.
func TestABreakerCountsFailuresInARow(t *testing.T) {
	w := breakerWorld(t)
	for n := range uint64(9) {
		w.asks3(n+1, false)
		w.asks3(n+1, false)
	}
	w.ends(events.VerdictFailed, 1, 1, 1, 2, 2)
	w.is(events.BreakerClosed, 2)
	w.ends(events.NoVerdict, 3)
	w.is(events.BreakerClosed, 2)
	w.ends(events.VerdictSucceeded, 4)
	w.is(events.BreakerClosed, 0)
	w.ends(events.VerdictFailed, 5, 6, 7)
	w.is(events.BreakerOpen, 3)
	w.ends(events.VerdictSucceeded, 8)
	w.is(events.BreakerOpen, 3)
	if !w.fire() || w.now != 1000+reset {
		t.Fatalf("it tries at %d", w.now)
	}
	w.is(events.BreakerHalfOpen, 3)
	w.asks3(10, false)
	w.ends(events.VerdictFailed, 9)
	w.is(events.BreakerHalfOpen, 3)
	w.ends(events.VerdictSucceeded, 10)
	w.is(events.BreakerClosed, 0)
	if left := rowstest.Memory(&w.state); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}

// A half open breaker grants one at a time, until one says how it goes on.
func TestABreakerHasOneProbe(t *testing.T) {
	w := breakerWorld(t)
	for n := range uint64(3) {
		w.asks3(n+1, false)
	}
	w.ends(events.VerdictFailed, 1, 2, 3)
	for n := uint64(4); n < 9; n++ {
		w.asks3(n, false)
	}
	w.asks3(20, true)
	w.fire()
	w.asks3(21, true)
	if got := w.granted(); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Fatalf("it grants %v", got)
	}
	w.ends(events.NoVerdict, 4, 4)
	w.ends(events.NoVerdict, 6) // withdrawn
	w.ends(events.VerdictFailed, 5)
	w.is(events.BreakerOpen, 4)
	w.fire()
	w.asks3(22, true)
	w.ends(events.NoVerdict, 7, 8)
	w.asks3(23, true)
	w.ends(events.VerdictSucceeded, 23)
	if got := w.granted(); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 7, 8, 23}) {
		t.Fatalf("it grants %v", got)
	}
	denied := map[events.RunnableID]int64{}
	for _, s := range w.said {
		if s.Verb == events.KeyDeny {
			denied[s.Runnable] = s.Until
		}
	}
	if len(denied) != 3 || denied[20] != 1000+reset || denied[21] != 0 || denied[22] != 0 {
		t.Errorf("denied are %v", denied)
	}
	if left := rowstest.Memory(&w.state); left != "" {
		t.Errorf("rows are left:\n%s", left)
	}
}

// Whatever comes twice, late or in another order: nothing is granted while the breaker is open, one at a time while it
// is half open, it opens after threshold failures in a row that the attempts have told it, and in the end nothing is left.
func TestABreakerKeepsItsPromises(t *testing.T) {
	for seed := range uint64(80) {
		w, rnd := breakerWorld(t), rand.New(rand.NewPCG(seed, 2))
		const requests = 60
		over, failures, probe, seen := map[uint64]bool{}, uint64(0), uint64(0), 0
		state, turn := events.BreakerClosed, 0
		grantedIn := map[uint64]int{}
		check := func() {
			for ; seen < len(w.all); seen++ {
				for _, e := range w.all[seen].Events {
					switch e := e.(type) {
					case *events.PermitIssued:
						n := uint64(e.Permit.Runnable)
						if state == events.BreakerOpen || state == events.BreakerHalfOpen && probe != 0 {
							t.Fatalf("seed %d: %d is granted while it is %s with the probe %d", seed, n, state, probe)
						}
						if grantedIn[n] = turn; state == events.BreakerHalfOpen {
							probe = n
						}
					case *events.PermitOver:
						n := uint64(e.Permit.Runnable)
						since, was := grantedIn[n]
						delete(grantedIn, n)
						if probe == n {
							probe = 0
						}
						if was && since == turn && e.Verdict == events.VerdictFailed {
							failures++
						} else if was && since == turn && e.Verdict == events.VerdictSucceeded {
							failures = 0
						}
					case *events.BreakerTurned:
						if e.To == events.BreakerOpen && failures < 3 {
							t.Fatalf("seed %d: it opens after %d failures", seed, failures)
						}
						if state, probe, turn = e.To, 0, turn+1; state == events.BreakerClosed {
							failures = 0
						}
					}
				}
			}
		}
		for range 200 {
			n := 1 + rnd.Uint64N(requests)
			switch rnd.IntN(5) {
			case 0:
				over[n] = true
				w.ends(events.Verdict(rnd.IntN(3)), n)
			case 1, 2:
				over[n] = true
				w.ends(events.VerdictFailed, n)
			case 3:
				w.now += 3000
				if h := rows.Get[head](rows.Begin(&w.state), headKey(w.key())); h != nil && h.Due != 0 && h.Due <= w.now {
					w.fire()
				}
			default:
				if !over[n] || rnd.IntN(3) == 0 {
					w.asks3(n, n%4 == 0)
				}
			}
			check()
		}
		for n := range uint64(requests) {
			w.ends(events.NoVerdict, n+1)
		}
		for w.fire() {
		}
		check()
		if left := rowstest.Memory(&w.state); left != "" {
			t.Fatalf("seed %d: rows are left:\n%s", seed, left)
		}
	}
}
