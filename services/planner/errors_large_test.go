package planner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/rows"
)

// A reduce that lists errors keeps as many as it lists, however many elements fail.
func TestAReduceKeepsAsManyErrorsAsItLists(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{
		"m":{"map":"input","tolerate":"100%","parallel":8,"do":{"e":{"step":"f.boom"}}},
		"r":{"reduce":"m.e","init":0,"with":"acc + item","errors":true}}}`
	w.startsWith("[0" + strings.Repeat(",0", 2*maxErrors) + "]")
	most := 0
	for n := 1; w.step(); n++ {
		if n%100 != 0 {
			continue
		}
		n := 0
		for _, k := range w.state.Keys() {
			if k.Table == rows.Arm {
				n++
			}
		}
		most = max(most, n)
	}
	if most > maxErrors+ahead*8 {
		t.Errorf("%d rows are kept", most)
	}
	var p struct {
		Productions map[string][]struct{ Errors []json.RawMessage }
	}
	w.must(json.Unmarshal(w.query("productions", "w", false), &p))
	if r := p.Productions["r"]; len(r) != 1 || len(r[0].Errors) != maxErrors {
		t.Errorf("%d values of %d errors", len(r), len(r[0].Errors))
	}
}
