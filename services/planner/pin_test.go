package planner

import (
	"testing"

	"github.com/heddle-run/heddle/shared/rows"
)

// A pinned definition lives as long as a run of the partition needs it, and no
// longer.
func TestTheLastRunTakesItsDefinitionAlong(t *testing.T) {
	w := newWorld(t, setting{restart: true})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id"}}}`
	definitions := func() (n int) {
		for _, k := range w.state.Keys() {
			if k.Table == rows.Definition || k.Table == rows.Pin {
				n++
			}
		}
		return n
	}
	for _, id := range []string{"one", "two"} {
		w.command(id, "start", `{"definition":"d","input":1}`)
	}
	w.run()
	for i, id := range []string{"one", "two"} {
		w.command(id, "delete", `{"force":true}`)
		if n, want := definitions(), 2*(1-i); n != want {
			t.Errorf("after %d deletions there are %d rows of definitions, want %d", i+1, n, want)
		}
	}
	w.command("one", "start", `{"definition":"d","input":1}`) // pinned anew
	w.run()
	if n := definitions(); n != 2 {
		t.Errorf("after another start there are %d rows of definitions, want 2", n)
	}
}
