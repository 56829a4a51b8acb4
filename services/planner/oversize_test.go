package planner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// What follows from an input can be larger than any record. It is parted, and a value
// that fits none fails the component that makes it: the workflow can be told to go on (J4).
func TestJ4WhatFitsNoRecordIsParted(t *testing.T) {
	const much = `"c":{"expr":"[input, input, input, input]","in":{"a":"a?","big":"big"}},"big":{"expr":"input"}`
	value := strings.Repeat("x", 1000)
	for _, c := range []struct{ name, component string }{
		{"lost", `"a":{"step":"f.id","policy":{"on_lost":"fail","on_failure":"skip"}}`},
		{"timed out", `"a":{"step":"f.id","policy":{"timeout":"1s","max_retries":0,"on_failure":"skip"}}`},
		{"completed", `"a":{"step":"f.id"}`},
		{"slept", `"a":{"sleep":"1s"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setting{})
			w.defs["d"] = fmt.Sprintf(`{"name":"d","components":{%s,%s}}`, c.component, much)
			w.command("w", "start", fmt.Sprintf(`{"definition":"d","input":%q}`, value))
			in := machine.Input{Workflow: "w"}
			switch c.name {
			case "lost":
				in.Lost = &machine.Lost{Runnable: 1, Attempt: 1, Reason: "gone"}
			case "completed":
				in.Inbox = &events.TaskOutcome{Token: w.tasks[0].Token, Outcome: events.OutcomeCompleted, Result: json.RawMessage("1")}
			default:
				if len(w.tasks) > 0 {
					w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: w.tasks[0].Token, Executor: "x"}})
				}
				in.Timer = w.timer()
			}
			at := events.Position{Epoch: w.epoch, Seq: w.seq + 1}
			if size := len(events.EncodeRecord(&events.Record{Events: w.p.Decide(rows.Begin(&w.state), at, w.now, in).Events})); size < 4*len(value) {
				t.Fatalf("the decision has %d bytes: it would fit", size)
			}
			before := len(w.journal)
			w.limit = 3000
			w.decide(in)
			w.limit = 0
			for _, raw := range w.journal[before:] {
				if len(raw) > 3000 {
					t.Errorf("a record that fits has %d bytes", len(raw))
				}
			}
			s := w.status("w")
			if s.Status != "failed" || s.Failure.Component != "c" || s.Failure.Error.Type != events.ErrorResultTooLarge {
				t.Errorf("the workflow is %s: %+v", s.Status, s.Failure)
			}
			if r := w.command("w", "retry", `{}`); r.Refusal != nil || w.status("w").Status != "idle" {
				t.Errorf("retried: %+v, the workflow is %s", r.Refusal, w.status("w").Status)
			}
			w.conserved("w")
		})
	}
}

// An input that fits no record is refused, an outcome that fits none fails its attempt,
// by its policy (J4).
func TestJ4AnInputThatFitsNoRecordIsRefused(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id","policy":{"on_failure":"skip"}}}}`
	w.limit = 3000
	large := string(text(3000))
	if code := codeOf(w.startsWith(large)); code != "too_large" {
		t.Errorf("a start is refused with %q", code)
	}
	if r := w.startsWith(string(text(1000))); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	if code := codeOf(w.command("w", "input", `{"input":`+large+`}`)); code != "too_large" {
		t.Errorf("an input is refused with %q", code)
	}
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: w.tasks[0].Token, Outcome: events.OutcomeCompleted, Result: json.RawMessage(large)}})
	all := w.listed("w", "", 10)
	if len(all) != 1 || all[0].Status != "skipped" || all[0].Error.Type != events.ErrorResultTooLarge {
		t.Errorf("the attempt ended as %+v", all)
	}
	for _, raw := range w.journal {
		if len(raw) > 3000 {
			t.Errorf("a record has %d bytes", len(raw))
		}
	}
}

// timer is the one that fires next.
func (w *world) timer() (next *rows.Key) {
	w.state.Scan(rows.Key{Table: rows.Timer}, nil, func(k rows.Key, _ rows.Row) bool {
		next = &k
		return false
	})
	return next
}
