package planner

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Rows of workflows have one form or are refused.
func FuzzRows(f *testing.F) {
	all := func() []wire.Message {
		return []wire.Message{
			&fact{}, &factPage{}, &runnable{}, &join{}, &suppression{}, &scope{}, &latest{}, &header{}, &setup{}, &definitionRow{}, &pins{}, &present{}, &state{}, &settled{},
		}
	}
	f.Add([]byte{})
	f.Add(wire.Marshal(&latest{Fact: 3}))
	f.Add(wire.Marshal(&factPage{Facts: []*fact{nil, {Depth: 1, Value: []byte(`1`)}, {}}}))
	f.Add(wire.Marshal(&present{Since: 3}))
	f.Fuzz(func(t *testing.T, b []byte) { wiretest.OneForm(t, b, all) })
}

// A query of a workflow is answered, with JSON or with a refusal.
func FuzzQuery(f *testing.F) {
	for _, kind := range []string{"workflow", "results", "productions", "facts", "runnables", "history", "graph", "no"} {
		f.Add(kind, "w", "", uint32(0), "", false)
		f.Add(kind, "w", "18446744073709551615", uint32(1), "active", true)
	}
	f.Fuzz(func(t *testing.T, kind, workflow, cursor string, limit uint32, filter string, all bool) {
		w := newWorld(t, setting{})
		w.defs["x"] = `{"name":"x","components":{"a":{"step":"x"},"b":{"expr":"input","after":"a"}}}`
		w.command("w", "start", `{"definition":"x","input":1}`)
		q := &events.Query{Kind: kind, Workflow: workflow, Cursor: cursor, Limit: limit, Filter: filter, All: all}
		r := w.p.Query(rows.Begin(&w.state), w.now, q)
		if r.Refusal == nil && !json.Valid(r.Body) {
			t.Errorf("%+v is answered with %q", q, r.Body)
		}
		if r.Refusal != nil && (r.Refusal.Code == "" || r.Refusal.Message == "") {
			t.Errorf("%+v is refused without a reason: %+v", q, r.Refusal)
		}
	})
}
