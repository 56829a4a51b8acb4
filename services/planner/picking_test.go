package planner

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// page is a page of runnables, with what its query says besides.
type runnablesPage struct {
	Items    []runnableView `json:"items"`
	Next     string         `json:"next_cursor"`
	LookedAt int            `json:"looked_at"`
}

func (w *world) pageOf(q events.Query) (runnablesPage, *events.Refusal) {
	w.t.Helper()
	q.Kind, q.Workflow = "runnables", "w"
	r := w.p.Query(rows.Begin(&w.state), w.now, &q)
	var p runnablesPage
	if r.Refusal == nil {
		w.must(json.Unmarshal(r.Body, &p))
	}
	return p, r.Refusal
}

// A runnable shows which element it works on, in the scopes around it, and since when it
// is there and dispatched.
func TestARunnableShowsItsScope(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{
		"m":{"map":"input","do":{"n":{"map":"input","do":{"x":{"step":"f.person","policy":{"execution_mode":"external"}}}}}},
		"first":{"step":"f.person","policy":{"execution_mode":"external"}}}}`
	w.now = 1_770_000_000_000
	w.startsWith("[[1,2],[3]]")
	p, _ := w.pageOf(events.Query{Filter: "active", Component: "m.n.x"})
	var scopes []string
	var last []uint64
	for _, r := range p.Items {
		scopes, last = append(scopes, r.Scope), append(last, *r.Element)
		if r.Component != "m.n.x" || r.Created != "2026-02-02T02:40:00.000Z" || r.Sent != r.Created {
			t.Errorf("listed is %+v", r)
		}
	}
	slices.Sort(scopes)
	slices.Sort(last)
	if want := []string{"f1/0/0", "f1/0/1", "f1/1/0"}; !slices.Equal(scopes, want) || !slices.Equal(last, []uint64{0, 0, 1}) {
		t.Errorf("the scopes are %q with the elements %d", scopes, last)
	}
	if p, _ := w.pageOf(events.Query{Component: "first"}); len(p.Items) != 1 || p.Items[0].Scope != "f1" || p.Items[0].Element != nil {
		t.Errorf("outside of a map there is %+v", p.Items)
	}
	if _, refusal := w.pageOf(events.Query{Component: "m.n.y"}); refusal == nil || refusal.Path != "component" {
		t.Errorf("a component that is not there: %+v", refusal)
	}
}

// One query looks at so many rows, says so, and the next ones go on behind them.
func TestAListOfRunnablesIsBoundedWork(t *testing.T) {
	const n = maxQueryLooks/2 + 50 // two facts for each
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{"m":{"map":"input","do":{"x":{"step":"f.id"}}},"r":{"reduce":"m.x","init":0,"with":"item"},"end":{"step":"f.id","after":"r"}}}`
	list, _ := elementsOf(n)
	w.startsWith(list)
	w.run()
	var ids []string
	pages := 0
	for cursor := ""; ; pages++ {
		p, refusal := w.pageOf(events.Query{Component: "end", Cursor: cursor})
		if refusal != nil {
			t.Fatal(refusal)
		}
		if p.LookedAt > maxQueryLooks || (p.LookedAt > 0) != (p.Next != "") {
			t.Fatalf("it looked at %d, next %q", p.LookedAt, p.Next)
		}
		for _, r := range p.Items {
			ids = append(ids, r.ID)
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if pages == 0 || len(ids) != 1 {
		t.Errorf("%d pages before the last, and %q", pages, ids)
	}
}
