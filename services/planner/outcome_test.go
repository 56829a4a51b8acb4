package planner

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// A worker may report anything as details; what shows the failure needs JSON.
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
	var status events.Summary
	reply := w.p.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: "workflow", Workflow: "w"})
	if err := json.Unmarshal(reply.Body, &status); err != nil {
		t.Fatalf("%v in %s", err, reply.Body)
	}
	if status.Failure == nil || string(status.Failure.Error.Details) != `"{\ufffd"` {
		t.Fatalf("the failure is %+v", status.Failure)
	}
}

// JSON is UTF-8: a result with other bytes would make results, history and events
// unreadable. Whichever worker ran it, it fails; so do details that nobody could show.
func TestAResultThatIsNoUTF8IsInvalid(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id"}}}`
	w.command("w", "start", `{"definition":"d","input":1}`)
	token := w.tasks[0].Token
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskHeartbeat{Token: token, Details: []byte("\"\xff\"")}})
	if r := w.state.Get(runnableKey("w", 1), nil).(*runnable); len(r.Heartbeat) != 0 {
		t.Errorf("the heartbeat %q is kept", r.Heartbeat)
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted, Result: []byte("{\"a\":\"\xff\"}")}})
	s := w.status("w")
	if s.Status != "failed" || s.Failure.Error.Type != events.ErrorInvalidResult || !strings.Contains(s.Failure.Error.Message, `byte 6, at "a"`) {
		t.Errorf("the workflow is %s: %+v", s.Status, s.Failure)
	}
	if kept := asJSON([]byte("\"\xff\"")); !utf8.Valid(kept) || !json.Valid(kept) {
		t.Errorf("details are kept as %q", kept)
	}
}

// Workers pass raw results as they are; nobody else looks whether they are JSON.
func TestAResultThatIsNoJSONIsInvalid(t *testing.T) {
	for _, result := range []string{`{"a":`, `1 2`, `nul`, `{'a':1}`} {
		w := newWorld(t, setting{})
		w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id"}}}`
		w.command("w", "start", `{"definition":"d","input":1}`)
		w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: w.tasks[0].Token, Outcome: events.OutcomeCompleted, Result: []byte(result)}})
		s := w.status("w")
		if s.Status != "failed" || s.Failure.Error.Type != events.ErrorInvalidResult || !s.Failure.Error.NonRetryable {
			t.Errorf("%s: the workflow is %s: %+v", result, s.Status, s.Failure)
		}
	}
}
