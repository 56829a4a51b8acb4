package planner

import (
	"bytes"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// remakesTask checks that the task of an open attempt can be made again, as it
// was at first (E1). What workers say of an attempt may be in it since.
func (w *world) remakesTask(wf string, id events.RunnableID) {
	w.t.Helper()
	tx := rows.Begin(&w.state)
	row := rows.Get[runnable](tx, runnableKey(wf, id))
	if row == nil {
		return // closed by something later in the same record
	}
	a, open := row.OpenAttempt()
	if h := rows.Get[header](tx, headerKey(wf)); !open || h.Status.winding() || row.Pool != "" {
		return
	}
	again, ok := w.p.Task(tx, wf, &a, id)
	if !ok {
		w.t.Fatalf("the task of %s cannot be made again", id)
	}
	var task events.Task
	w.must(wire.Unmarshal(again.Value, &task))
	first, out := w.published[string(task.Token)]
	if !out || !bytes.Equal(again.Value, first.Value) && len(task.Heartbeat) == 0 || again.Queue != first.Queue || again.Spread != first.Spread {
		w.t.Fatalf("the task of %s is made again as\n%s\nit was\n%s", id, wire.Text(again.Value), wire.Text(first.Value))
	}
}

// remakesAll checks that of every open attempt of a workflow.
func (w *world) remakesAll(wf string) {
	w.t.Helper()
	for _, k := range w.state.Keys() {
		if k.Table == rows.Runnable && k.Workflow == wf {
			w.remakesTask(wf, events.RunnableID(k.A))
		}
	}
}
