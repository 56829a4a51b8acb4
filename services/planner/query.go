package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Query implements machine.Machine. History is read from the journal instead.
func (p *Planner) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	t := p.begin(tx, events.Position{}, now, q.Workflow)
	r := events.Reply{ID: q.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone}
	if t.head == nil {
		r.Result = events.ResultRefused
		r.Refusal = &events.Refusal{Code: "not_found", Message: fmt.Sprintf("there is no workflow %q", q.Workflow)}
		return r
	}
	body, refusal := t.answer(q)
	if refusal != nil {
		r.Result, r.Refusal = events.ResultRefused, refusal
		return r
	}
	r.Body = mustJSON(body)
	return r
}

func (t *turn) answer(q *events.Query) (any, *events.Refusal) {
	switch q.Kind {
	case "workflow":
		return t.status(), nil
	case "results":
		if q.All {
			return map[string]any{"status": t.head.Status.String(), "results": t.allResults()}, nil
		}
		return map[string]any{"status": t.head.Status.String(), "results": t.results()}, nil
	case "productions":
		return map[string]any{"productions": t.productions()}, nil
	case "facts":
		return t.facts(q)
	case "runnables":
		return t.runnables(q)
	case "graph":
		return t.graphStatus(), nil
	}
	return nil, &events.Refusal{Code: "unknown_query", Path: "kind", Message: fmt.Sprintf("there is no query %q", q.Kind)}
}

func (t *turn) allResults() map[string][]json.RawMessage {
	by := t.productions()
	all := make(map[string][]json.RawMessage, len(t.graph().Outputs))
	for _, o := range t.graph().Outputs {
		all[o.Name] = []json.RawMessage{}
		if list := by[t.graph().Components[o.Component].Name]; list != nil {
			all[o.Name] = list
		}
	}
	return all
}

// productions are all values by component, in order of production. Inputs and
// what a component only passes on are none.
func (t *turn) productions() map[string][]json.RawMessage {
	all := map[string][]json.RawMessage{}
	for _, c := range t.graph().Components {
		if !kinds[c.Kind].traits().transient {
			all[c.Name] = []json.RawMessage{}
		}
	}
	t.eachFact(0, func(_ events.FactID, f *fact) bool {
		if f.Component > 0 {
			if c := t.component(f.Component - 1); !kinds[c.Kind].traits().transient {
				all[c.Name] = append(all[c.Name], f.Value)
			}
		}
		return true
	})
	return all
}

// graphStatus is the status of every component, for the overlay on its graph.
func (t *turn) graphStatus() map[string]any {
	states := map[string]string{} // what ran in any scope covers what was suppressed in another
	rows.Scan(t.tx, rows.Key{Table: rows.Suppressed, Workflow: t.wf}, func(_ rows.Key, s *suppression) bool {
		states[t.component(s.Component).Name] = "suppressed"
		return true
	})
	t.eachFact(0, func(_ events.FactID, f *fact) bool {
		if f.Component > 0 {
			states[t.component(f.Component-1).Name] = "completed"
		}
		return true
	})
	rows.Scan(t.tx, rows.Key{Table: rows.Runnable, Workflow: t.wf}, func(_ rows.Key, r *runnable) bool {
		states[t.component(r.Component).Name] = r.Status.String()
		return true
	})
	t.addNotTaken(states)
	return map[string]any{"digest": t.graph().Digest, "definition": t.definitionRow(), "states": states}
}

// addNotTaken adds the components that an input did not come to. That is known once
// all inputs are settled: before, it may still come.
func (t *turn) addNotTaken(states map[string]string) {
	if t.head.Status != Idle && t.head.Status != Completed || t.head.NextFact == 0 {
		return
	}
	for _, c := range t.graph().Components {
		if _, known := states[c.Name]; !known {
			states[c.Name] = definition.NotTaken
		}
	}
}

func (t *turn) definitionRow() json.RawMessage {
	return rows.Get[definitionRow](t.tx, definitionKey(t.graph().Digest)).Canonical
}
