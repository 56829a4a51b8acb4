package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// A start under the ID of a run that is still being deleted begins with nothing: no timer
// of that run fires in it, none of its rows is left, and its workers are told.
func TestAStartAmidADeletionBeginsWithNothing(t *testing.T) {
	w := newWorld(t, setting{})
	w.maxActive = 700
	w.p = w.planner()
	w.defs["d"] = strings.TrimSuffix(components(700, `"step":"f.id","policy":{"timeout":"1m"}`), "}") + `,"options":{"max_concurrency":700}}`
	w.startsWith("1")
	for _, task := range w.tasks {
		w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: task.Token, Executor: "x"}})
	}
	w.command("w", "pause", `{}`)
	w.command("w", "resume", `{"context":{"a":1}}`)
	w.held = true
	w.command("w", "delete", `{"force":true}`)
	if !w.inHand("w") {
		t.Fatal("nothing is in hand")
	}
	w.held = false
	old := w.tasks
	w.tasks = nil
	w.defs["e"] = `{"name":"e","components":{"a":{"sleep":"10m"}}}`
	if r := w.command("w", "start", `{"definition":"e","input":1}`); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	for _, task := range old {
		if !w.cancelled[string(task.Token)] {
			t.Fatalf("the worker of attempt %d of %s is not told", task.Attempt, task.Component)
		}
	}
	w.advance(2 * 60_000)
	if s := w.status("w"); s.Status != "running" || s.Counts.Waiting != 1 {
		t.Errorf("%s with %+v", s.Status, s.Counts)
	}
	w.command("w", "delete", `{"force":true}`)
	w.gone()
}

// Whatever a record has room for, the worker of each attempt is told that a deletion closes: also where
// the record that closes the last of them deletes the run.
func TestADeletionInPiecesTellsTheWorkers(t *testing.T) {
	for room := 1; room < 40; room++ {
		w := newWorld(t, setting{budget: machine.Budget{Events: room}})
		w.defs["d"] = components(3, `"step":"f.id"`)
		w.startsWith("1")
		if len(w.tasks) != 3 {
			t.Fatalf("%d tasks", len(w.tasks))
		}
		w.command("w", "delete", `{"force":true}`)
		w.gone()
		for _, task := range w.tasks {
			if !w.cancelled[string(task.Token)] {
				t.Errorf("with room for %d events the worker of %s is not told", room, task.Component)
			}
		}
	}
}

// A deletion reads so many bytes of facts for a record, and no more.
func TestADeletionOfLargeFactsIsParted(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{"a":{"expr":"input"}}}`
	w.startsWith("1")
	for range 20 {
		if r := w.command("w", "input", fmt.Sprintf(`{"input":%q}`, strings.Repeat("x", 500_000))); r.Refusal != nil {
			t.Fatal(r.Refusal.Message)
		}
	}
	before := len(w.records)
	w.command("w", "delete", `{"force":true}`)
	if n := len(w.records) - before; n < 40*500_000/removedBytes {
		t.Errorf("%d records", n)
	}
	w.gone()
}

// A retry that names very many looks at so many of them for a record, and no more.
func TestARetryThatNamesManyLooksAtThemInPieces(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.boom","policy":{"max_retries":0}}}}`
	w.startsWith("1")
	w.run()
	names := make([]string, 50_000)
	for i := range names {
		names[i] = fmt.Sprintf(`"r%d"`, 2+i)
	}
	before := len(w.records)
	body := func(more string) string { return `{"runnables":[` + strings.Join(names, ",") + more + `]}` }
	w.command("w", "retry", body(""))
	if n := len(w.records) - before; n < len(names)*lookSteps/machine.DefaultSteps {
		t.Errorf("%d records look at %d names", n, len(names))
	}
	if s := w.status("w"); s.Status != "failed" || w.inHand("w") {
		t.Errorf("it is %s with %+v", s.Status, s.Counts)
	}
	w.command("w", "retry", body(`,"r1"`))
	w.run()
	if n := w.calls["w a"]; n != 2 {
		t.Errorf("%d calls", n)
	}
}
