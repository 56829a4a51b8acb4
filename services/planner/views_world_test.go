package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

func (w *world) query(kind, id string, all bool) json.RawMessage {
	w.t.Helper()
	r := w.p.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: kind, Workflow: id, All: all})
	if r.Refusal != nil {
		return mustJSON(r.Refusal)
	}
	return r.Body
}

func (w *world) status(id string) events.Summary {
	w.t.Helper()
	var s events.Summary
	w.must(json.Unmarshal(w.query("workflow", id, false), &s))
	return s
}
