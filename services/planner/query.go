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
	if !t.exists() {
		r.Result = events.ResultRefused
		r.Refusal = &events.Refusal{Code: "not_found", Message: fmt.Sprintf("there is no workflow %q", q.Workflow)}
		return r
	}
	body, refusal := t.view.answer(q)
	if refusal != nil {
		r.Result, r.Refusal = events.ResultRefused, refusal
		return r
	}
	if kept, is := body.(events.KeptAnswer); is {
		r.Body = asKept(kept)
	} else {
		r.Body = mustJSON(body)
	}
	return r
}

// Outcome is what queries for a workflow and for its results say, without JSON around it; there: it exists.
func (p *Planner) Outcome(tx *rows.Tx, now int64, id string) (sum events.Summary, results map[string]json.RawMessage, there bool) {
	t := p.begin(tx, events.Position{}, now, id)
	if !t.exists() {
		return sum, nil, false
	}
	return t.view.now(), t.outputs.results(), true
}

func (vw *view) answer(q *events.Query) (any, *events.Refusal) {
	switch q.Kind {
	case "workflow":
		return vw.now(), nil
	case "results":
		if q.All {
			return map[string]any{"status": vw.head.Status.String(), "results": vw.allResults()}, nil
		}
		return map[string]any{"status": vw.head.Status.String(), "results": vw.outputs.results()}, nil
	case "productions":
		return map[string]any{"productions": vw.productions()}, nil
	case "facts":
		return vw.factList(q)
	case "runnables":
		return vw.runnableList(q)
	case "explain":
		return vw.explain(q)
	case events.AttemptQuery:
		return vw.attempt(q.Filter)
	case "graph":
		return vw.graphStatus(), nil
	case events.KeptQuery:
		return vw.kept(q)
	}
	return nil, &events.Refusal{Code: "unknown_query", Path: "kind", Message: fmt.Sprintf("there is no query %q", q.Kind)}
}

func (vw *view) allResults() map[string][]json.RawMessage {
	by := vw.productions()
	all := make(map[string][]json.RawMessage, len(vw.graph().Outputs))
	for _, o := range vw.graph().Outputs {
		all[o.Name] = []json.RawMessage{}
		if list := by[vw.graph().Components[o.Component].Name]; list != nil {
			all[o.Name] = list
		}
	}
	return all
}

// productions are all values by component, in order of production. Inputs and
// what a component only passes on are none.
func (vw *view) productions() map[string][]json.RawMessage {
	all := map[string][]json.RawMessage{}
	for _, c := range vw.graph().Components {
		if produces(c) {
			all[c.Name] = []json.RawMessage{}
		}
	}
	vw.facts.each(0, func(_ events.FactID, f *fact) bool {
		if f.Component > 0 && !f.Failure {
			if c := vw.component(f.Component - 1); produces(c) && !f.Partial {
				all[c.Name] = append(all[c.Name], f.Value)
			}
		}
		return true
	})
	return all
}

// produces reports whether productions show a component.
func produces(c *definition.Component) bool {
	if c.Gone {
		return true
	}
	t := traitsOf(c)
	return !t.transient && !t.hidden
}

// graphStatus is the status of every component, for the overlay on its graph.
func (vw *view) graphStatus() map[string]any {
	states := map[string]string{} // what ran in any scope covers what was suppressed in another
	rows.Scan(vw.tx, rows.Key{Table: rows.Suppressed, Workflow: vw.id}, func(_ rows.Key, s *suppression) bool {
		states[vw.component(s.Component).Name] = stateSuppressed
		return true
	})
	vw.facts.each(0, func(_ events.FactID, f *fact) bool {
		if f.Component > 0 && !f.Failure {
			states[vw.component(f.Component-1).Name] = stateCompleted
		}
		return true
	})
	rows.Scan(vw.tx, rows.Key{Table: rows.Runnable, Workflow: vw.id}, func(_ rows.Key, r *runnable) bool {
		states[vw.component(r.Component).Name] = r.Status.String()
		return true
	})
	vw.addBranches(states)
	all := map[string]any{"digest": vw.graph().Digest, "definition": vw.definitionRow(), "states": states}
	if n := vw.setup().Numbering; n != nil {
		all["numbers"] = vw.graph().Numbering().Components
	}
	return all
}

func (vw *view) definitionRow() json.RawMessage {
	return rows.Get[definitionRow](vw.tx, definitionKey(vw.graph().Digest)).Canonical
}
