package planner

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// keeping is a definition with everything that leaves rows: steps that fail and are skipped,
// what they suppress, facts with rows of their own, a join, and an output that only
// the first input has.
const keeping = `{"name":"d","options":{"keep":{"facts":20}},"components":{` +
	`"acc":{"accumulate":"state + input","init":0},` +
	`"task":{"accumulate":{"step":"f.gather"},"init":0},` +
	`"once":{"expr":"'kept ' + string(input)","when":"input == 1"},` +
	`"fussy":{"step":"f.fussy","after":"even","policy":{"on_failure":"skip"}},` +
	`"even":{"expr":"input % 2"},` +
	`"behind":{"expr":"input","after":["fussy","even"]},` +
	`"large":{"expr":"map(1..100, # + input)"},` +
	`"guard":{"step":"f.id","input":"[input, states.acc]"}}}`

// feedsKeeping feeds inputs from 1 on, and checks that the state has what it should after each.
func feedsKeeping(w *world, inputs, atOnce, most int) {
	w.t.Helper()
	w.defs["d"] = keeping
	w.command("w", "start", `{"definition":"d"}`)
	total := 0
	for n := 1; n <= inputs; n++ {
		w.command("w", "input", fmt.Sprintf(`{"input":%d}`, n))
		if total += n; n%atOnce > 0 && n < inputs {
			continue
		}
		w.run()
		if keys := w.state.Keys(); n > 10 && len(keys) > most {
			w.t.Fatalf("after %d inputs there are %d rows: %v", n, len(keys), keys)
		}
		checkKept(w, n, total)
	}
}

// checkKept checks what is shown after n inputs.
func checkKept(w *world, n, total int) {
	w.t.Helper()
	if s := w.status("w"); s.Status != "idle" {
		w.t.Fatalf("after %d inputs it is %s: %+v", n, s.Status, s.Counts)
	}
	var got struct{ Results map[string]json.RawMessage }
	w.must(json.Unmarshal(w.query("results", "w", false), &got))
	want := fmt.Sprint(total)
	if string(got.Results["acc"]) != want || string(got.Results["task"]) != want || string(got.Results["once"]) != `"kept 1"` {
		w.t.Fatalf("after %d inputs the results are %s", n, got.Results)
	}
	var p struct{ Productions map[string][]json.RawMessage }
	w.must(json.Unmarshal(w.query("productions", "w", false), &p))
	if sums := p.Productions["acc"]; string(sums[len(sums)-1]) != want || len(p.Productions["once"]) != 1 {
		w.t.Fatalf("after %d inputs the productions are %s", n, p.Productions)
	}
	var facts struct{ Items []factView }
	w.must(json.Unmarshal(w.query("facts", "w", false), &facts))
	there := map[string]bool{}
	for _, f := range facts.Items {
		there[f.ID] = true
	}
	for _, f := range facts.Items {
		for _, parent := range f.Parents {
			if string(f.Value) != `"kept 1"` && !there[parent] {
				w.t.Fatalf("after %d inputs %s is there without its parent %s", n, f.ID, parent)
			}
		}
	}
	w.query("graph", "w", false)
	w.listed("w", "", maxQueryItems)
}

// Whatever is fed, rows, facts and what is shown stay those of the newest inputs, in any
// pieces, and for everybody who folds the journal.
func TestForgettingKeepsAWorkflowSmall(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			inputs := 120
			if s.restart {
				inputs = 30
			}
			feedsKeeping(newWorld(t, s), inputs, 1, 80)
			feedsKeeping(newWorld(t, s), inputs, 7, 300)
		})
	}
}

// What one record does to forget is bounded, also when much is old at once.
func TestForgettingIsBounded(t *testing.T) {
	withEach(t)
	w := newWorld(t, setting{budget: machine.Budget{Events: 64}})
	w.defs["d"] = `{"name":"d","options":{"keep":{"facts":1}},"components":{"each":{"sleep":"1s"},"work":{"expr":"input","after":"each"}}}`
	w.startsWith(string(mustJSON(make([]int, 1000))))
	w.run()
	before := len(w.records)
	w.command("w", "input", `{"input":[]}`)
	w.run()
	if n := len(w.state.Keys()); n > 20 {
		t.Fatalf("%d rows are left: %v", n, w.state.Keys())
	}
	if pieces := len(w.records) - before; pieces < 5 {
		t.Fatalf("all is forgotten in %d records", pieces)
	}
	w.bounded(before)
}

// An input that has not settled is kept with all of it, and keeps no other.
func TestWhatIsOpenIsNotForgotten(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","options":{"keep":{"facts":5}},"components":{` +
		`"early":{"expr":"input + 1"},"wait":{"sleep":"1h","when":"input == 1"},"both":{"expr":"input","after":["early","wait"]}}}`
	w.command("w", "start", `{"definition":"d","input":1}`)
	for n := 2; n < 200; n++ {
		w.command("w", "input", fmt.Sprintf(`{"input":%d}`, n))
	}
	if n := len(w.state.Keys()); n > 20 {
		t.Fatalf("%d rows are left: %v", n, w.state.Keys())
	}
	w.advance(3_600_000)
	var got struct{ Results map[string]json.RawMessage }
	w.must(json.Unmarshal(w.query("results", "w", false), &got))
	if string(got.Results["both"]) != "[2,1]" {
		t.Fatalf("the first input gives %s", got.Results)
	}
	w.command("w", "cancel", `{}`)
	w.command("w", "delete", `{}`)
	w.gone()
}

// A fed workflow has as many rows after many inputs as after few, and each input costs the same events.
func TestAFedAccumulatorStaysSmall(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","options":{"keep":{"facts":100}},"components":{"acc":{"accumulate":"state + input","init":0}}}`
	w.command("w", "start", `{"definition":"d"}`)
	feed := func(n int) (keys, events int) {
		from := len(w.records)
		for range n {
			w.command("w", "input", `{"input":1}`)
			w.journal, w.replies, w.statuses = w.journal[:0], w.replies[:0], w.statuses[:0]
		}
		for _, e := range w.records[from:] {
			events = max(events, e)
		}
		return len(w.state.Keys()), events
	}
	keys, events := feed(500)
	later, most := feed(1500)
	if later > keys+1 || most > events {
		t.Errorf("after 500 inputs there are %d rows and %d events a record, after 2,000 %d and %d", keys, events, later, most)
	}
	if s := rows.Get[state](rows.Begin(&w.state), stateKey("w", 0)); s == nil || string(w.p.turn.facts.get(s.Fact).Value) != "2000" {
		t.Errorf("the state is %+v", s)
	}
}
