package planner

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
)

// eachKind is a kind of these tests only: it opens a scope for each element of a list,
// at most atOnce at a time, and everything behind it runs in these scopes.
type eachKind struct{}

const atOnce = 2

func (eachKind) traits(*definition.Component) traits { return traits{} }

func (eachKind) arrive(i invocation) { i.fanOut() }

func (eachKind) wake(invocation) { panic("it has no timer") }

func (eachKind) waitsForTime(*definition.Component, *runnable) string { return "its elements" }

func (eachKind) proceed(i invocation) bool {
	var list []json.RawMessage
	if err := json.Unmarshal(i.value(), &list); err != nil {
		i.fail(err)
		return false
	}
	next, open := i.fanned()
	switch {
	case next < uint64(len(list)) && open < atOnce:
		i.enter(list[next])
		return true
	case next == uint64(len(list)) && open == 0:
		i.end(mustJSON(len(list)))
	}
	return false
}

// twoLevels has a map of elements in a map of lists: a sleep is a map in these tests.
const twoLevels = `{"name":"d","components":{"lists":{"sleep":"1s"},"elements":{"sleep":"1s","after":"lists"},` +
	`"work":{"step":"f.id","after":"elements"},"both":{"expr":"input","after":["elements","work"]}}}`

// withEach makes sleeps of definitions open scopes instead.
func withEach(t *testing.T) {
	was := kinds[policy.KindSleep]
	kinds[policy.KindSleep] = eachKind{}
	t.Cleanup(func() { kinds[policy.KindSleep] = was })
}

// nested is a list of lists of numbers that are all different.
func nested(r *rand.Rand, most int) [][]int {
	all, n := make([][]int, r.IntN(most)), 0
	for i := range all {
		all[i] = make([]int, r.IntN(most))
		for j := range all[i] {
			n++
			all[i][j] = n
		}
	}
	return all
}

// openScopes is how many scopes each runnable has open.
func (w *world) openScopes() map[uint64]int {
	all := map[uint64]int{}
	rows.Scan(rows.Begin(&w.state), rows.Key{Table: rows.Scope}, func(_ rows.Key, s *scope) bool {
		if s.Outer != 0 {
			all[uint64(s.Owner)]++
		}
		return true
	})
	return all
}

// Each element is worked on in a scope of its own, where a join pairs what is of this
// element; few scopes are open at a time, and none when the run has come to rest.
func TestScopesAreNested(t *testing.T) {
	withEach(t)
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			for seed := range uint64(20) {
				tree := nested(rand.New(rand.NewPCG(seed, 1)), 7)
				w := newWorld(t, s)
				w.defs["d"] = twoLevels
				w.startsWith(string(mustJSON(tree)))
				for w.step() {
					for owner, n := range w.openScopes() {
						if n > atOnce {
							t.Fatalf("r%d has %d scopes open", owner, n)
						}
					}
				}
				w.restsWithAll(tree)
			}
		})
	}
}

// restsWithAll checks that every element came to its join once, in its own scope.
func (w *world) restsWithAll(tree [][]int) {
	w.t.Helper()
	if s := w.status("w"); s.Status != "idle" {
		w.t.Fatalf("the workflow is %s: %+v", s.Status, s.Counts)
	}
	want := []string{}
	for i, list := range tree {
		for j, n := range list {
			want = append(want, fmt.Sprintf("f1/%d/%d [%d,%d]", i, j, n, n))
		}
	}
	var page struct{ Items []factView }
	w.must(json.Unmarshal(w.query("facts", "w", false), &page))
	got := []string{}
	for _, f := range page.Items {
		if f.Component != nil && *f.Component == "both" {
			got = append(got, f.Scope+" "+string(f.Value))
		}
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		w.t.Fatalf("of %v came %v", tree, got)
	}
	for _, k := range w.state.Keys() {
		if slices.Contains([]rows.Table{rows.Scope, rows.Join, rows.Arm, rows.Runnable, rows.InHand}, k.Table) {
			w.t.Fatalf("%+v is left of %v", k, tree)
		}
	}
	w.conserved("w")
}

// A wide map is worked on in records each of which is small, and so is its end.
func TestAWideMapIsDecidedInPieces(t *testing.T) {
	withEach(t)
	w := newWorld(t, setting{})
	w.defs["d"] = strings.Replace(twoLevels, `"f.id"`, `"f.id","when":"false"`, 1) // nothing is to wait for
	list := make([]int, 3000)
	w.startsWith(string(mustJSON([][]int{list, list})))
	w.bounded(0)
	if s := w.status("w"); s.Status != "idle" || len(w.openScopes()) > 0 {
		t.Fatalf("the workflow is %s, with open scopes %v", s.Status, w.openScopes())
	}
}

// Wherever a run with open scopes is cancelled and deleted, nothing of it is left; and a
// skip of its first step that is open lets the others go on.
func TestOpenScopesAreCancelledAndSkipped(t *testing.T) {
	withEach(t)
	tree := [][]int{{1, 2, 3}, {}, {4}, {5, 6}}
	for _, budget := range []machine.Budget{{}, {Events: 1, Bytes: 1, Steps: 1000, Tasks: 1, Value: 1000}} {
		for steps := range 6 {
			w := newWorld(t, setting{restart: true, budget: budget})
			w.defs["d"] = twoLevels
			w.startsWith(string(mustJSON(tree)))
			for range steps {
				w.step()
			}
			if steps%2 == 0 {
				w.skipsAnAttempt()
				w.run()
				if s := w.status("w"); s.Status != "idle" || s.Counts.Skipped != 1 || len(w.openScopes()) > 0 {
					t.Fatalf("%s with %+v and scopes %v", s.Status, s.Counts, w.openScopes())
				}
			}
			w.command("w", "cancel", `{}`)
			w.command("w", "delete", `{}`)
			w.gone()
		}
	}
}

// skipsAnAttempt skips the first step whose attempt is open.
func (w *world) skipsAnAttempt() {
	w.t.Helper()
	open := w.listed("w", "active", 1)
	if len(open) == 0 {
		w.t.Fatal("no attempt is open")
	}
	if r := w.command("w", "skip", `{"runnable":"`+open[0].ID+`"}`); r.Refusal != nil {
		w.t.Fatal(r.Refusal.Message)
	}
}

// A list with an element that is too large fails when its turn comes. A retry goes on with
// that element: what came before it, open or not, is not run again. With another list it
// begins anew, and ends when nothing of the former one is open either.
func TestARetryGoesOnWithTheNextScope(t *testing.T) {
	withEach(t)
	begin := func(t *testing.T) *world {
		w := newWorld(t, setting{restart: true, budget: machine.Budget{Value: 100}})
		w.defs["d"] = `{"name":"d","components":{"list":{"sleep":"1s"},"work":{"step":"f.id","after":"list"}}}`
		w.startsWith(`["a","b","` + strings.Repeat("x", 200) + `","d"]`)
		w.step()
		if s := w.status("w"); s.Status != "failed" || s.Counts.Active != 1 || s.Failure.Component != "list" {
			t.Fatalf("%s (%+v) with %+v", s.Status, s.Failure, s.Counts)
		}
		return w
	}
	ended := func(w *world, calls int) {
		w.run()
		if s := w.status("w"); s.Status != "idle" || w.calls["w work"] != calls || len(w.openScopes()) > 0 {
			w.t.Fatalf("%s with %+v after %d calls, open scopes %v", s.Status, s.Counts, w.calls["w work"], w.openScopes())
		}
	}
	t.Run("with more room", func(t *testing.T) {
		w := begin(t)
		w.budget.Value = 1000
		w.p = w.planner()
		w.command("w", "retry", `{}`)
		ended(w, 4)
	})
	t.Run("without", func(t *testing.T) {
		w := begin(t)
		w.command("w", "retry", `{}`)
		if s := w.status("w"); s.Status != "failed" || s.Counts.Active != 1 {
			t.Fatalf("%s with %+v", s.Status, s.Counts)
		}
		w.command("w", "skip", `{"runnable":"r1"}`)
		ended(w, 2)
	})
	t.Run("another list", func(t *testing.T) {
		w := begin(t)
		w.command("w", "retry", `{"runnable":"r1","input":[1,2,3]}`)
		ended(w, 5)
	})
}
