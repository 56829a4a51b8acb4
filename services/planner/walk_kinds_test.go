package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// walkedKinds are definitions with every kind whose rows are there for a while only, among
// failures, races and what comes from outside.
var walkedKinds = []string{
	// lists that tasks fold, given up in every state, beside what waits for them
	`{"name":"d","options":{"max_concurrency":3},"components":{
		"beside":{"step":"f.id","policy":{"execution_mode":"external","timeout":"20s"}},
		"slow":{"sleep":"2s"},
		"folded":{"reduce":"input","init":0,"with":{"step":"f.foldlen"}},
		"next":{"step":"f.id","after":"folded"},
		"both":{"expr":"input","in":{"f":"next?","s":"slow"}},
		"won":{"step":"f.id","after":{"first":{"of":["next","beside"]}}},
		"behind":{"expr":"input","after":"won"}}}`,
	// a race over a map with a list in its body, a signal, and a reduce
	`{"name":"d","options":{"max_concurrency":3},"components":{
		"lists":{"map":"input","parallel":2,"tolerate":1,"do":{
			"sum":{"reduce":"lists","init":0,"with":{"step":"f.fold"},"policy":{"on_failure":"skip"}},
			"asked":{"signal":"go","key":"string(len(input))","timeout":"9s","remind":{"every":"2s","max":2,"do":{"step":"f.id"}}},
			"limit":{"sleep":"3s"},
			"won":{"expr":"1","after":{"first":{"of":["sum","asked","limit"]}}},
			"caught":{"expr":"0","catch":"asked","when":"error.type == 'timeout'"},
			"quiet":{"idle_for":"1s","of":"sum"}}},
		"all":{"reduce":"lists.won","init":0,"with":"acc + item","errors":true},
		"stop":{"signal":"stop"},
		"end":{"step":"f.id","after":{"first":{"of":["all","stop"]}}},
		"halted":{"expr":"input.error.type","catch":"end"},
		"join":{"expr":"input","in":{"e":"end?","h":"halted?"}}}}`,
	// states, by a task and by expressions, with reactors and what looks at them
	`{"name":"d","options":{"max_concurrency":3},"components":{
		"n":{"expr":"len(input)"},
		"sum":{"accumulate":"state + input","init":0,"after":"n"},
		"told":{"accumulate":{"step":"f.gather"},"init":0,"after":"sum"},
		"seen":{"step":"f.id","after":"told","when":"states.sum > 1"},
		"unseen":{"sleep":"1s","else":"seen"},
		"quiet":{"idle_for":"2s","of":"told","after":"sum"},
		"join":{"step":"f.id","in":{"a":"seen?","q":"quiet","u":"unseen?"}}}}`,
	// maps in maps with a race in the inner one, and inputs that are forgotten
	`{"name":"d","options":{"max_concurrency":3,"keep":{"facts":5}},"components":{
		"size":{"step":"f.size2","policy":{"on_failure":"skip"}},
		"lists":{"map":"input","parallel":2,"tolerate":"50%","do":{
			"inner":{"map":"input","parallel":3,"do":{
				"a":{"step":"f.id","after":"inner","policy":{"max_retries":1}},
				"b":{"sleep":"1s","after":"inner"},
				"c":{"expr":"0","catch":"a"},
				"w":{"step":"f.id","in":{"s":"size?","x":"won"}},
				"won":{"step":"f.id","after":{"first":{"of":["a","b","c"],"count":2}}},
				"q":{"idle_for":"2s","of":"w","after":"inner"}}},
			"n":{"reduce":"inner.w","init":0,"with":"acc + 1","until":"acc > 1","errors":true},
			"qs":{"reduce":"inner.q","init":0,"with":{"step":"f.fold"}},
			"k":{"expr":"1","in":{"n":"n?","q":"qs?"}}}},
		"all":{"reduce":"lists.k","init":0,"with":"acc + item","partial":true},
		"ns":{"reduce":"lists.n","init":0,"with":"acc + item.value"},
		"over":{"expr":"input","in":{"a":"all?","n":"ns?"}}}}`,
	// states in a race
	`{"name":"d","options":{"max_concurrency":3,"keep":{"facts":5}},"components":{
		"n":{"expr":"len(input)"},
		"m":{"state_machine":"state + input","init":0,"reactors":[{"when":"state > 2","edge":"level","then":{"step":"f.id"}}],"after":"n"},
		"stop":{"signal":"stop","timeout":"3s"},
		"acc":{"accumulate":{"step":"f.gather"},"init":0,"after":"n"},
		"won":{"step":"f.id","after":{"first":{"of":["acc","stop"]}}},
		"timeout":{"expr":"1","catch":"stop"},
		"either":{"step":"f.id","after":{"any":["won","timeout"]}},
		"both":{"expr":"1","in":{"w":"won?","t":"timeout?"}}}}`,
	// a race over a map with branches, two reduces and waits in its body
	`{"name":"d","options":{"max_concurrency":3},"components":{
		"list":{"step":"f.id","policy":{"on_failure":"skip"}},
		"lists":{"map":"input","after":"list","parallel":2,"do":{
			"e":{"step":"f.id","when":"len(input) > 1"},
			"f":{"step":"f.id","else":"e"},
			"g":{"expr":"len(input)","after":{"any":["e","f"]}},
			"ask":{"signal":"go","key":"string(len(input))"},
			"j":{"expr":"1","in":{"g":"g?","ask":"ask"}}}},
		"sum":{"reduce":"lists.g","init":0,"with":{"step":"f.fold"}},
		"js":{"reduce":"lists.j","init":0,"with":"acc + item","policy":{"on_failure":"skip"}},
		"lim":{"sleep":"9s","after":"list"},
		"end":{"step":"f.id","after":{"first":{"of":["x","lim"]}}},
		"x":{"expr":"1","after":["sum","js"]},
		"out":{"expr":"1","in":{"end":"end?","l":"list?"}}}}`,
}

// TestWalksThroughKinds is TestWalks with the other kinds. Behind the end, nothing is left of
// what was there for a while.
func TestWalksThroughKinds(t *testing.T) {
	for n, def := range walkedKinds {
		for seed := range uint64(10) {
			t.Run(fmt.Sprint(n, "/", seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 5))
				w := &walk{newWorld(t, setting{seed: seed + 1, restart: seed%4 == 0}), r}
				w.fits("d", def)
				w.held = true
				w.startsWith(`[[1,2],[3]]`)
				for range 150 {
					if r.IntN(8) == 0 {
						w.signals()
					} else {
						w.move()
					}
					w.consistent()
					w.joined()
				}
				w.rests()
				w.cleared()
				w.ends()
			})
		}
	}
}

// fits defines what must be right.
func (w *walk) fits(name, def string) {
	if said := w.define(name, def); said != "" {
		w.t.Fatal(said)
	}
}

// signals sends one.
func (w *walk) signals() {
	if w.r.IntN(2) == 0 {
		w.command("w", "signal", `{"name":"stop"}`)
		return
	}
	w.command("w", "signal", fmt.Sprintf(`{"name":"go","key":"%d"}`, w.r.IntN(3)))
}

// joined checks that no join has heard more often of its arms than it has arms.
func (w *walk) joined() {
	w.t.Helper()
	h, _ := w.state.Get(headerKey("w"), nil).(*header)
	if h == nil || h.Status == Deleting {
		return
	}
	g := w.p.begin(rows.Begin(&w.state), events.Position{}, w.now, "w").graph()
	for _, k := range w.state.Keys() {
		if j, is := w.state.Get(k, nil).(*join); is {
			if c := g.Components[k.B]; int(j.Arrived+j.Dead) > max(c.Awaited(), len(c.Arms)) {
				w.t.Fatalf("%s has heard %+v of %d arms", c.Name, j, c.Awaited())
			}
		}
	}
}

// cleared checks that a run at rest has no row that was there for a while only.
func (w *walk) cleared() {
	w.t.Helper()
	h, _ := w.state.Get(headerKey("w"), nil).(*header)
	if h == nil || h.Status != Idle {
		return
	}
	for _, k := range w.state.Keys() {
		switch k.Table {
		case rows.Join, rows.Arm, rows.Fold, rows.Elements, rows.Watch, rows.Racer, rows.Kept, rows.Scope, rows.Ready, rows.InHand:
			w.t.Fatalf("%+v is left: %+v", k, w.state.Get(k, nil))
		case rows.State:
			if k.B != 0 {
				w.t.Fatalf("%+v is left: %+v", k, w.state.Get(k, nil))
			}
		case rows.Match:
			if k.B == uint64(waits) {
				w.t.Fatalf("%+v is left", k)
			}
		}
	}
}
