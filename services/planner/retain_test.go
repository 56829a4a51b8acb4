package planner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// Runs of every kind of end leave nothing behind once they have been kept for long enough. Each wave begins with
// no row at all, as the first one did: so a million runs leave as much as these.
func TestRetainedRunsLeaveNothingBehind(t *testing.T) {
	w := newWorld(t, setting{})
	if wrong := w.define("d", `
name: d
components:
  a: {step: f.fussy}
  m: {map: "[1, 2, 3]", do: {x: {expr: "input + 1"}}}
  r: {reduce: m.x, with: "acc + item", init: 0}
  n: {accumulate: "state + input", init: 0}
  s: {signal: go, when: "input > 1"}
options: {retain: {completed: 1h, failed: 1h, cancelled: 1h, idle: 1h}}
`); wrong != "" {
		t.Fatal(wrong)
	}
	ends := map[string]int{}
	for range 20 { // waves of runs: those of one are gone before the next begins
		for i := range 20 {
			id := fmt.Sprintf("w%d", i)
			w.command(id, "start", fmt.Sprintf(`{"definition":"d","input":%d,"options":{"close":%q}}`, i%3, []string{"never", "on_idle"}[i%2]))
			w.run()
			switch i % 4 {
			case 1:
				w.command(id, "cancel", "{}")
			case 2:
				w.command(id, "signal", `{"name":"go"}`)
			}
			if w.status(id).Status == "running" {
				w.command(id, "signal", `{"name":"go"}`)
			}
			ends[w.status(id).Status]++
		}
		w.advance(3600_000)
		if left := w.state.Keys(); len(left) > 0 {
			t.Fatalf("%d rows are left, as %v", len(left), left[:min(3, len(left))])
		}
	}
	if len(ends) != 4 || len(w.state.Keys()) > 0 {
		t.Fatalf("the runs have ended as %v", ends)
	}
}

// An idle workflow that is not kept for ever costs one row more than one that is.
func TestRetentionCostsARow(t *testing.T) {
	count := func(retain string) int {
		w := newWorld(t, setting{})
		w.define("d", "name: d\ncomponents: {a: {step: f.inc}}\noptions: {retain: {idle: "+retain+"}}")
		w.command("w", "start", `{"definition":"d","input":1}`)
		w.run()
		return len(w.state.Keys())
	}
	if kept, limited := count("forever"), count("7d"); limited != kept+1 {
		t.Fatalf("%d rows, without a limit %d", limited, kept)
	}
}

// What neither a workflow nor its definition says, the service does; the history says who
// deleted it, and why.
func TestTheServiceSaysHowLongWorkflowsAreKept(t *testing.T) {
	w := newWorld(t, setting{})
	w.p.cfg.Retain = definition.Retain{Cancelled: DefaultRetain.Cancelled}
	w.define("d", "name: d\ncomponents: {a: {step: f.inc}}\noptions: {retain: {idle: 1h}}")
	w.command("w", "start", `{"definition":"d","input":1}`)
	w.command("w", "cancel", "{}")
	w.advance(DefaultRetain.Cancelled.Milliseconds() - 1)
	if s := w.status("w"); s.Status != "cancelled" {
		t.Fatalf("the workflow is %q", s.Status)
	}
	w.advance(1)
	last, err := events.DecodeRecord(w.journal[len(w.journal)-1])
	w.must(err)
	want := events.By{Who: "heddle", Why: "it has been cancelled for 168h0m0s (option retain)"}
	if i := slices.IndexFunc(last.Events, func(e events.Event) bool {
		d, ok := e.(*events.WorkflowDeleted)
		return ok && d.By == want
	}); i < 0 {
		t.Fatalf("the last record has %+v", last.Events)
	}
}
