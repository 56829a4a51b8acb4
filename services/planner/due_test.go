package planner

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// A record that ends several attempts at once, as the last element of a map ends the map too, may
// pass the outcome that makes the workflow due; a workflow that has failed is due once more when
// what was active has ended.
func TestNoOutcomeThatMakesAWorkflowDueIsPassedBy(t *testing.T) {
	for _, c := range []struct {
		name, components, strategy, input string
		want                              []bool // behind each outcome
	}{
		{"a map ends with its element", `"m":{"map":"input","do":{"x":{"step":"f.id"}}}`, `{"every_n":3}`, `[1,2,3]`, []bool{false, false, true}},
		{"what was active as it failed", `"a":{"step":"f.boom"},"b":{"step":"f.id"},"c":{"step":"f.id"}`, `"on_complete"`, `1`, []bool{true, false, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setting{})
			w.defs["d"] = `{"name":"d","components":{` + c.components + `}}`
			w.command("w", "start", `{"definition":"d","input":`+c.input+`,"options":{"checkpoint":`+c.strategy+`}}`)
			for i, want := range c.want {
				task, ok := w.next()
				if !ok {
					t.Fatalf("there is no attempt %d", i+1)
				}
				if got := w.dueBehind(w.execute(task)); got != want {
					t.Errorf("outcome %d makes it due: %t, want %t", i+1, got, want)
				}
			}
		})
	}
}

// dueBehind reports whether an outcome makes its workflow due.
func (w *world) dueBehind(out *events.TaskOutcome) bool {
	w.t.Helper()
	token, err := events.PeekToken(out.Token)
	w.must(err)
	in := machine.Input{Workflow: token.Workflow, Source: events.FromInbox, Inbox: out}
	tx := rows.Begin(&w.state)
	due := w.p.Decide(tx, events.Position{Epoch: w.epoch, Seq: w.seq + 1}, w.now, in).Due
	tx.Reset()
	w.decide(in)
	return due
}
