package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heddle-run/heddle/shared/rows"
)

// walkedMaps has maps in maps, reduces of every sort, and what comes from outside.
const walkedMaps = `{"name":"d","options":{"max_concurrency":3},"components":{
	"beside":{"step":"f.id","policy":{"execution_mode":"external","timeout":"20s"}},
	"size":{"step":"f.size2","policy":{"on_failure":"skip"}},
	"lists":{"map":"input","tolerate":1,"parallel":2,"do":{
		"elements":{"map":"input","parallel":2,"do":{
			"work":{"step":"f.id","in":{"e":"elements","size":"size?"},"policy":{"timeout":"5s","max_retries":1}},
			"odd":{"step":"f.id","in":"elements","when":"input % 2 == 1","policy":{"on_failure":"skip"}}}},
		"worked":{"reduce":"elements.work","init":0,"with":"acc + item.e"},
		"odds":{"reduce":"elements.odd","init":0,"with":{"step":"f.fold"},"partial":true}}},
	"all":{"reduce":"lists.worked","init":0,"with":{"step":"f.fold"},"errors":true},
	"early":{"reduce":"lists.worked","init":0,"with":"acc + item","until":"acc > 3"},
	"sizes":{"reduce":"input","init":0,"with":{"step":"f.foldlen"},"policy":{"on_failure":"skip"}},
	"done":{"step":"f.id","after":"lists"}}}`

// TestWalksThroughMaps is TestWalks with maps and reduces. Behind the end, none of their rows is left.
func TestWalksThroughMaps(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			w := &walk{newWorld(t, setting{seed: seed + 1, restart: seed%4 == 0}), r}
			w.defs["d"] = walkedMaps
			w.held = true
			w.startsWith(`[[1,2],[3]]`)
			for range 150 {
				w.move()
				w.consistent()
			}
			w.rests()
			for _, k := range w.state.Keys() {
				h, _ := w.state.Get(headerKey("w"), nil).(*header)
				if (k.Table == rows.Fold || k.Table == rows.Elements) && h.Status != Cancelled {
					t.Fatalf("%+v is left", k)
				}
			}
			w.ends()
		})
	}
}

// rests brings the run to rest as ends does, and keeps it.
func (w *walk) rests() {
	w.budget, w.held = w.set.budget, false
	w.p = w.planner()
	for range 300 {
		w.helped()
		switch w.status("w").Status {
		case "idle", "cancelled", "":
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %+v", w.status("w"))
}
