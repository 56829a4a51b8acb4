package planner

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// doubted gives a start that a lost journal may have decided.
func (w *world) doubted(wf, body string) {
	w.t.Helper()
	headers := []events.Header{{Key: events.HeaderType, Value: []byte(events.CommandType("start"))}}
	cmd, bad := events.ParseCommand([]byte(wf), headers, []byte(body), fmt.Sprint("place ", w.seq))
	if bad != nil {
		w.t.Fatal(bad)
	}
	w.decide(machine.Input{Workflow: wf, Source: events.FromCommands, Command: cmd, Quarantine: &machine.Quarantine{Reason: "the journal is lost"}})
}

// What a start begins that may have run already is held from its begin: nothing is
// dispatched before somebody resumes it. A start that begins nothing holds nothing.
func TestAWorkflowThatMayHaveRunAlreadyBeginsHeld(t *testing.T) {
	w := newWorld(t, setting{restart: true})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id"}}}`
	w.doubted("w", `{"definition":"nothing","input":1}`)
	w.doubted("w", `{"definition":"d","input":1}`)
	if len(w.tasks) != 0 {
		t.Fatalf("%d tasks are out before anybody has looked", len(w.tasks))
	}
	if r := w.command("w", "resume", `{"by":"ann","why":"it has not run"}`); r.Refusal != nil || len(w.tasks) != 1 {
		t.Fatalf("resumed, %d tasks are out: %+v", len(w.tasks), r.Refusal)
	}
	w.doubted("w", `{"definition":"d"}`) // it exists
	if r := w.command("w", "input", `{"input":2}`); r.Refusal != nil || len(w.tasks) != 2 {
		t.Errorf("behind a start that is refused, %d tasks are out: %+v", len(w.tasks), r.Refusal)
	}
}
