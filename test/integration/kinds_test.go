//go:build integration

package integration

import (
	"fmt"
	"net/http"
	"testing"
)

// kinds is a definition with a map, a reduce over it, a signal behind that, and a state.
var kinds = object{
	"name": "kinds",
	"components": object{
		"each":     object{"map": "1..input.n", "parallel": 20, "do": object{"x": object{"step": "shop.add"}}},
		"total":    object{"reduce": "each.x", "init": 0, "with": "acc + item"},
		"approved": object{"signal": "go", "after": "total"},
		"last":     object{"expr": "input.by + ' approves'", "after": "approved"},
		"sum":      object{"accumulate": "state + input.n", "init": 0},
	},
	"outputs": object{"total": "total", "last": "last", "sum": "sum"},
}

// A map whose planner is killed in the middle goes on: each element is folded once, a signal
// that came meanwhile is taken once, and the state has each input once.
func TestAMapASignalAndAStateOutliveAKilledPlanner(t *testing.T) {
	t.Parallel()
	const elements, some = 2000, 200
	d := deploy(t, 1)
	d.api.start("kinds", kinds, object{"n": elements})
	eventually(t, takeoverLimit, "the map is on its way", func() error {
		var w workflow
		if err := d.api.get("/v1/workflows/kinds", &w); err != nil {
			return err
		}
		if w.Counts["completed"] < some {
			return fmt.Errorf("%v", w.Counts)
		}
		return nil
	})
	signal := object{"input": object{"by": "ann"}}
	if err := d.api.do(http.MethodPost, "/v1/workflows/kinds/signals/go", signal, nil); err != nil {
		t.Fatal(err)
	}
	d.processes["planner-1"].kill(t)
	d.processes["planner-1"].start(t)
	eventually(t, takeoverLimit, "each element is folded once", func() error {
		results, err := d.api.drained("kinds", "idle")
		if err == nil {
			wantResult(t, results, "total", fmt.Sprint(elements*(elements+1)/2+elements))
			wantResult(t, results, "last", `"ann approves"`)
			wantResult(t, results, "sum", fmt.Sprint(elements))
		}
		return err
	})
	if err := d.api.do(http.MethodPost, "/v1/workflows/kinds/inputs?wait=accepted", object{"input": object{"n": 3}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.api.do(http.MethodPost, "/v1/workflows/kinds/signals/go", signal, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, takeoverLimit, "the second input is folded too", func() error {
		results, err := d.api.drained("kinds", "idle")
		if err == nil && string(results["sum"]) != fmt.Sprint(elements+3) {
			err = fmt.Errorf("the sum is %s", results["sum"])
		}
		if err == nil {
			wantResult(t, results, "total", "9")
		}
		return err
	})
}
