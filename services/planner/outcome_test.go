package planner

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// A taker may report anything as details; whoever shows the failure needs JSON.
func TestDetailsThatAreNoJSONBecomeAString(t *testing.T) {
	w := newWorld(t, setting{})
	start := []byte(`{"command":"start","input":1,"definition":{"name":"d","components":{"a":{"step":"f.id"}}}}`)
	cmd, bad := events.ParseCommand([]byte("w"), nil, start, "p")
	if bad != nil {
		t.Fatal(bad)
	}
	w.decide(machine.Input{Workflow: "w", Command: cmd})
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{
		Token: w.tasks[0].Token, Outcome: events.OutcomeFailed,
		Error: &events.TaskError{Type: "boom", Message: "no", Details: json.RawMessage("{\xff"), NonRetryable: true},
	}})
	var status events.Status
	reply := w.p.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: "workflow", Workflow: "w"})
	if err := json.Unmarshal(reply.Body, &status); err != nil {
		t.Fatalf("%v in %s", err, reply.Body)
	}
	if status.Failure == nil || string(status.Failure.Error.Details) != `"{\ufffd"` {
		t.Fatalf("the failure is %+v", status.Failure)
	}
}
