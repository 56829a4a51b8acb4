package planner

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// columns are the states that a command may find a workflow in, and how it gets
// there. The definition is a step that fails on 0, then waits for a person.
var columns = []struct {
	name string
	make func(w *world)
}{
	{"running", func(w *world) { w.begin(1) }},
	{"idle", func(w *world) { w.begin(1); w.run(); w.endExternal() }},
	{"paused", func(w *world) { w.begin(1); w.command("w", "pause", "{}") }},
	{"failed", func(w *world) { w.begin(0); w.run() }},
	{"stopped", func(w *world) { w.begin(1); w.command("w", "stop", "{}"); w.run() }},
	{"completed", func(w *world) { w.beginWith(1, `,"options":{"close":"on_idle"}`); w.run(); w.endExternal() }},
	{"cancelled", func(w *world) { w.begin(1); w.command("w", "cancel", "{}") }},
	{"unknown", func(*world) {}},
}

// table is what a command comes to in each of the columns: done, no change, or the
// code of the refusal.
var table = []struct {
	command string
	body    string
	cells   [8]string
}{
	{"start", `{"definition":"d","input":1}`, [8]string{
		"already_started", "already_started", "already_started", "already_started", "already_started", "already_started", "already_started", "done"}},
	{"input", `{"input":1}`, [8]string{"done", "done", "done", "done", "stopped", "closed", "closed", "not_found"}},
	{"signal", `{"name":"go"}`, [8]string{"done", "done", "done", "done", "stopped", "closed", "closed", "not_found"}},
	{"pause", `{}`, [8]string{"done", "done", "no change", "invalid_state", "stopped", "closed", "closed", "not_found"}},
	{"resume", `{}`, [8]string{"no change", "no change", "done", "invalid_state", "done", "closed", "closed", "not_found"}},
	{"stop", `{}`, [8]string{"done", "done", "done", "done", "no change", "closed", "closed", "not_found"}},
	{"cancel", `{}`, [8]string{"done", "done", "done", "done", "done", "closed", "no change", "not_found"}},
	{"retry", `{}`, [8]string{"nothing_to_retry", "nothing_to_retry", "nothing_to_retry", "done", "stopped", "closed", "closed", "not_found"}},
	{"skip", `{"runnable":"r1"}`, [8]string{"done", "nothing_to_skip", "done", "done", "stopped", "closed", "closed", "not_found"}},
	{"set_policies", `{"policies":[]}`, [8]string{"done", "done", "done", "done", "done", "closed", "closed", "not_found"}},
	{"migrate", `{"definition":"e"}`, [8]string{"busy", "done", "done", "done", "done", "closed", "closed", "not_found"}},
	{"checkpoint", `{}`, [8]string{"done", "done", "done", "done", "done", "closed", "closed", "not_found"}},
	{"delete", `{}`, [8]string{"not_closed", "not_closed", "not_closed", "not_closed", "not_closed", "done", "done", "no change"}},
	{"delete", `{"force":true}`, [8]string{"done", "done", "done", "done", "done", "done", "done", "no change"}},
	{"complete", `{"token":"%s","result":1}`, [8]string{"done", "attempt_closed", "done", "attempt_closed", "done", "attempt_closed", "attempt_closed", "not_found"}},
	{"fail", `{"token":"%s","error":{"message":"no"}}`, [8]string{"done", "attempt_closed", "done", "attempt_closed", "done", "attempt_closed", "attempt_closed", "not_found"}},
	{"heartbeat", `{"token":"%s"}`, [8]string{"no change", "attempt_closed", "no change", "attempt_closed", "no change", "attempt_closed", "attempt_closed", "not_found"}},
	{"keep", `{"token":"%s","put":[{"key":"k","value":1}]}`, [8]string{"done", "attempt_closed", "done", "attempt_closed", "done", "attempt_closed", "attempt_closed", "not_found"}},
}

const tableDefinition = `
name: d
components:
  a: {step: f.fussy}
  h: {step: f.person, policy: {execution_mode: external}}
  s: {signal: go, when: "false"}
`

func (w *world) begin(input int) { w.beginWith(input, "") }

func (w *world) beginWith(input int, more string) {
	w.command("w", "start", fmt.Sprintf(`{"definition":"d","input":%d%s}`, input, more))
}

// endExternal completes the person's step, when the run has one open.
func (w *world) endExternal() {
	w.command("w", "complete", fmt.Sprintf(`{"token":%q,"result":1}`, w.token("h")))
}

// token is that of a component's open attempt, or of nobody.
func (w *world) token(component string) string {
	for _, r := range w.openRunnables("w") {
		if r.Component == component && r.Token != nil {
			return *r.Token
		}
	}
	return events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w", Runnable: 99, Attempt: 1}))
}

func TestEveryCommandInEveryState(t *testing.T) {
	for _, row := range table {
		for i, column := range columns {
			t.Run(row.command+row.body+"/"+column.name, func(t *testing.T) {
				w := newWorld(t, setting{duplicate: true})
				for name, text := range map[string]string{"d": tableDefinition, "e": tableDefinition + "  z: {expr: input, after: h}\n"} {
					if refused := w.define(name, text); refused != "" {
						t.Fatal(refused)
					}
				}
				column.make(w)
				if column.name != "unknown" && w.status("w").Status != column.name {
					t.Fatalf("the workflow is %s", w.status("w").Status)
				}
				body := row.body
				if row.command == "complete" || row.command == "fail" || row.command == "heartbeat" || row.command == "keep" {
					body = fmt.Sprintf(row.body, w.tokenIn(column.name))
				}
				r := w.command("w", row.command, body)
				if got := cell(r); got != row.cells[i] {
					t.Fatalf("%s when %s: %s, want %s", row.command, column.name, got, row.cells[i])
				}
			})
		}
	}
}

// tokenIn is the person's token where it is open; a failed workflow's column
// asks for the closed attempt of the step that failed.
func (w *world) tokenIn(state string) string {
	if state == "failed" || state == "unknown" {
		return w.token("nobody")
	}
	return w.token("h")
}

func cell(r events.Reply) string {
	switch r.Result {
	case events.ResultRefused:
		return r.Refusal.Code
	case events.ResultNoChange:
		return "no change"
	}
	return "done"
}

// TestHeldInputsRunAfterResume shows what held means in the table.
func TestHeldInputsRunAfterResume(t *testing.T) {
	w := newWorld(t, setting{})
	w.define("d", "name: d\ncomponents: {a: {step: f.inc}}")
	w.command("w", "start", `{"definition":"d","input":1}`)
	w.command("w", "pause", "{}")
	w.run()
	w.command("w", "input", `{"input":2}`)
	w.run()
	if c := w.status("w").Counts; c.Completed != 1 || c.Ready != 1 {
		t.Fatalf("while paused: %+v", c)
	}
	w.command("w", "resume", "{}")
	w.run()
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 2 {
		t.Fatalf("after resume: %+v", s)
	}
}

func TestUnknownTokenChangesNothing(t *testing.T) {
	w := newWorld(t, setting{})
	w.define("d", "name: d\ncomponents: {a: {step: f.inc}}")
	w.command("w", "start", `{"definition":"d","input":1}`)
	forged := events.Key("another key, 16 b").Seal(events.Token{Workflow: "w", Run: events.Position{Epoch: 1, Seq: 1}, Runnable: 1, Attempt: 1, Decided: events.Position{Epoch: 1, Seq: 1}})
	before := w.fingerprint()
	w.deliver(&events.TaskOutcome{Token: forged, Outcome: events.OutcomeCompleted, Result: []byte("1")})
	if w.fingerprint() != before {
		t.Fatal("a forged token changed the state")
	}
}

// TestGivenRulesThatCannotHoldAreRefused guards what is recorded: a rule that
// no runnable could obey is refused when it is given.
func TestGivenRulesThatCannotHoldAreRefused(t *testing.T) {
	w := newWorld(t, setting{})
	w.define("d", "name: d\ncomponents: {a: {step: f.inc}}")
	body := `{"definition":"d","input":1,"policies":[{"match":{"name":"a"},"execution_mode":"sync"}]}`
	if got := cell(w.command("w", "start", body)); got != "invalid_policy" {
		t.Fatalf("start: %s", got)
	}
	if got := cell(w.command("w", "start", `{"definition":"d","input":1,"context":[1]}`)); got != "invalid_field" {
		t.Fatalf("start: %s", got)
	}
}

// TestAbandonedAttempts: one that had not begun counts for nothing, one that
// had is lost and follows on_lost.
func TestAbandonedAttempts(t *testing.T) {
	for _, c := range []struct {
		started int64
		want    string
	}{{0, "running"}, {5, "failed"}} {
		w := newWorld(t, setting{})
		w.define("d", "name: d\ncomponents: {a: {step: f.inc, policy: {on_lost: fail}}}")
		w.command("w", "start", `{"definition":"d","input":1}`)
		task, _ := w.next()
		w.deliver(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeAbandoned, Started: c.started})
		if s := w.status("w"); s.Status != c.want {
			t.Fatalf("started %d: the workflow is %s, want %s", c.started, s.Status, c.want)
		}
	}
}

// TestLostAttemptsAreReplacedUpToMaxLost shows on_lost retry, outside max_retries.
func TestLostAttemptsAreReplacedUpToMaxLost(t *testing.T) {
	w := newWorld(t, setting{})
	w.define("d", "name: d\ncomponents: {a: {step: f.inc, policy: {max_lost: 2}}}")
	w.command("w", "start", `{"definition":"d","input":1}`)
	for attempt := uint32(1); attempt <= 3; attempt++ {
		if s := w.status("w"); s.Status != "running" {
			t.Fatalf("before loss %d the workflow is %s", attempt, s.Status)
		}
		w.decide(machine.Input{Workflow: "w", Lost: &machine.Lost{Runnable: 1, Attempt: attempt, Reason: "no heartbeat"}})
	}
	if s := w.status("w"); s.Status != "failed" || s.Failure.Error.Type != events.ErrorLost {
		t.Fatalf("after three losses: %+v", s)
	}
}
