package planner

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// asked decides a command of somebody who asks; it returns the decision.
func (w *world) asked(id, name, body string, to events.ReplyTo) events.Reply {
	w.t.Helper()
	headers := []events.Header{{Key: events.HeaderID, Value: []byte(to.ID)}, {Key: events.HeaderType, Value: []byte(events.CommandType(name))}}
	cmd, cerr := events.ParseCommand([]byte(id), headers, []byte(body), "place")
	if cerr != nil {
		w.t.Fatal(cerr)
	}
	n := len(w.replies)
	w.decide(machine.Input{Workflow: id, Source: events.FromCommands, Command: cmd, ReplyTo: to})
	return w.replies[n]
}

func TestADecisionSaysWhetherTheEndWillBeTold(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["chain"] = `{"name":"chain","components":{"a":{"step":"f.id"},"b":{"step":"f.id","after":"a"}}}`
	start := `{"definition":"chain","input":1}`
	for _, c := range []struct {
		name, body, id string
		wait           bool
		result         string
		followed       bool
	}{
		{"pause", `{}`, "none", true, events.ResultRefused, false},
		{"start", start, "alone", false, events.ResultDone, false},
		{"start", start, "again", true, events.ResultRefused, false},
		{"pause", `{}`, "pause", true, events.ResultDone, false},
		{"pause", `{}`, "pause2", true, events.ResultNoChange, false},
		{"input", `{"input":2}`, "input", true, events.ResultDone, true},
		{"resume", `{}`, "resume", true, events.ResultDone, false},
	} {
		r := w.asked("w", c.name, c.body, events.ReplyTo{Address: "me", ID: c.id, Wait: c.wait})
		if r.Result != c.result || r.Followed != c.followed {
			t.Errorf("%s as %s: %s, followed %v", c.name, c.id, r.Result, r.Followed)
		}
	}
	w.run()
	var told []string
	for _, r := range w.replies {
		if r.Kind == events.ReplyDrained {
			told = append(told, r.ID)
		}
	}
	if len(told) != 1 || told[0] != "input" {
		t.Errorf("told %v", told)
	}
}

// Nothing comes to rest any more when a run is deleted: a client that waits for it is told
// that it is gone, and so is one that has already waited for another input. One that
// was told before, or never waited, is not.
func TestADeletionIsToldToThoseWhoWait(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["one"] = `{"name":"one","components":{"a":{"step":"f.id"}}}`
	tell := func(id string, wait bool) events.ReplyTo {
		return events.ReplyTo{Address: "at " + id, ID: id, Wait: wait}
	}
	w.asked("w", "start", `{"definition":"one","input":1}`, tell("early", true))
	w.run()
	w.asked("w", "input", `{"input":2}`, tell("first", true))
	w.asked("w", "input", `{"input":3}`, tell("alone", false))
	w.asked("w", "input", `{"input":4}`, tell("second", true))
	n := len(w.replies)
	if r := w.asked("w", "delete", `{"force":true}`, tell("deleter", true)); r.Result != events.ResultDone || r.Followed {
		t.Fatalf("the deletion: %+v", r)
	}
	var told []string
	for _, r := range w.replies[n:] {
		if r.Kind != events.ReplyDrained {
			continue
		}
		told = append(told, r.ID)
		if r.Workflow != "w" || r.Result != events.ResultRefused || r.Refusal == nil || r.Refusal.Code != "not_found" || len(r.Body) > 0 {
			t.Errorf("%s was told %+v, %+v", r.ID, r, r.Refusal)
		}
	}
	if want := []string{"first", "second"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// A run that had come to rest has nobody to tell when it is deleted.
func TestTheDeletionOfAClosedRunTellsNobody(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["one"] = `{"name":"one","options":{"close":"on_idle"},"components":{"a":{"step":"f.id"}}}`
	w.asked("w", "start", `{"definition":"one","input":1}`, events.ReplyTo{Address: "me", ID: "q", Wait: true})
	w.run()
	n := len(w.replies)
	w.asked("w", "delete", `{}`, events.ReplyTo{Address: "me", ID: "d"})
	if told := w.replies[n:]; len(told) != 1 || told[0].Kind != events.ReplyDecided {
		t.Errorf("told %+v", told)
	}
}

// A start whose work is over at once is answered and told in one record.
func TestTheEndMayComeWithTheDecision(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["sum"] = `{"name":"sum","components":{"a":{"expr":"input + 1"}}}`
	r := w.asked("w", "start", `{"definition":"sum","input":1}`, events.ReplyTo{Address: "me", ID: "q", Wait: true})
	if last := w.replies[len(w.replies)-1]; !r.Followed || last.Kind != events.ReplyDrained || last.ID != "q" {
		t.Errorf("decided %+v, told %+v", r, last)
	}
}

// What callers are told at the end is what a query shows then, whether the
// record publishes a status or not.
func TestTheEndIsWhatAQueryShows(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","options":{"labels":{"k":"'<\"' + string(input)"}},"outputs":{"z":"a","first":"b","never":"c"},
		"components":{"a":{"step":"x"},"b":{"step":"x"},"c":{"step":"x","after":"b","when":"false"}}}`
	start := `{"definition":"d","input":1}`
	for _, failed := range []bool{false, true} {
		id := map[bool]string{false: "good", true: "bad"}[failed]
		first := w.asked(id, "start", start, events.ReplyTo{Address: "me", ID: id, Wait: true})
		if first.Refusal != nil {
			t.Fatalf("%+v", first.Refusal)
		}
		for _, task := range w.tasks {
			out := &events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Result: task.Input, Started: 1, Finished: 2}
			if failed && task.Component == "a" {
				out.Outcome, out.Error = events.OutcomeFailed, &events.TaskError{Type: "<no>", Message: "no", NonRetryable: true, Details: []byte(`{"why":"no"}`)}
			}
			w.deliver(out)
		}
		w.tasks = nil
		var results struct {
			Results map[string]any `json:"results"`
		}
		w.must(json.Unmarshal(w.query("results", id, false), &results))
		want := mustJSON(map[string]any{"workflow": w.query("workflow", id, false), "results": results.Results})
		got := w.replies[len(w.replies)-1]
		if got.Kind != events.ReplyDrained || got.ID != id || string(got.Body) != string(want) {
			t.Errorf("%s: told\n%s\nwant\n%s", id, got.Body, want)
		}
	}
}

// BenchmarkEnd is what the last record of a workflow costs besides its
// decision: the status is published, one caller is told.
func BenchmarkEnd(b *testing.B) {
	w := newWorld(b, setting{})
	w.defs["one"] = `{"name":"one","components":{"a":{"step":"f.id"}}}`
	w.asked("w", "start", `{"definition":"one","input":1}`, events.ReplyTo{Address: "me", ID: "q", Wait: true})
	w.run()
	rec, err := events.DecodeRecord(w.journal[len(w.journal)-1])
	w.must(err)
	tx := rows.Begin(&w.state)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(w.p.Apply(tx, rec, false).Effects); n != 2 {
			b.Fatalf("%d effects", n)
		}
	}
}

// A forced deletion cancels first: workers of what is open hear of it with the
// token that they have, although no row is left. Attempts that nobody takes
// (external ones) have nobody to tell.
func TestAForcedDeletionStopsItsWorkers(t *testing.T) {
	w := newWorld(t, setting{restart: true})
	w.defs["two"] = `{"name":"two","components":{"a":{"step":"f.id"},"b":{"step":"f.id","policy":{"execution_mode":"external"}}}}`
	w.command("w", "start", `{"definition":"two","input":1}`)
	w.command("w", "input", `{"input":2}`)
	if len(w.tasks) != 2 {
		t.Fatalf("%d tasks were published, want two", len(w.tasks))
	}
	if r := w.command("w", "delete", `{"force":true}`); r.Result != events.ResultDone {
		t.Fatalf("the deletion: %+v", r)
	}
	if len(w.cancelled) != 2 || !w.cancelled[string(w.tasks[0].Token)] || !w.cancelled[string(w.tasks[1].Token)] {
		t.Errorf("%d attempts were cancelled, want the two that were open", len(w.cancelled))
	}
}
