package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// What follows from a loss or a timer can be larger than any record: another
// step's value, over and over, in what nobody waits for any more. It halts then,
// and the workflow can be told to go on (J4).
func TestJ4ALossOrTimerThatFitsNoRecordHalts(t *testing.T) {
	const much = `"c":{"expr":"[input, input, input, input]","in":{"a":"a?","big":"big"}},"big":{"expr":"input"}`
	value := strings.Repeat("x", 1000)
	for _, c := range []struct{ name, component, want string }{
		{"lost", `"a":{"step":"f.id","policy":{"on_lost":"fail","on_failure":"skip"}}`, "RunnableLost WorkflowFailed "},
		{"timed out", `"a":{"step":"f.id","policy":{"timeout":"1s","max_retries":0,"on_failure":"skip"}}`, "RunnableTimedOut WorkflowFailed "},
		{"slept", `"a":{"sleep":"1s"}`, "RunnableFailed WorkflowFailed "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setting{})
			w.defs["d"] = fmt.Sprintf(`{"name":"d","components":{%s,%s}}`, c.component, much)
			w.command("w", "start", fmt.Sprintf(`{"definition":"d","input":%q}`, value))
			in := machine.Input{Workflow: "w"}
			if c.name == "lost" {
				in.Lost = &machine.Lost{Runnable: 1, Attempt: 1, Reason: "gone"}
			} else {
				if len(w.tasks) > 0 {
					w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskNotified{Token: w.tasks[0].Token, Executor: "x"}})
				}
				in.Timer = w.timer()
			}
			at := events.Position{Epoch: w.epoch, Seq: w.seq + 1}
			if size := sizeOf(in, at, w.p.Decide(rows.Begin(&w.state), at, w.now, in).Events); size < 4*len(value) {
				t.Fatalf("the decision has %d bytes: it would fit", size)
			}
			w.oversize = true
			evs := w.decide(in)
			w.oversize = false
			if size := sizeOf(in, at, evs); size > 1000 {
				t.Errorf("the decision that fits has %d bytes", size)
			}
			got := ""
			for _, e := range evs {
				got += events.Name(e) + " "
			}
			if got != c.want {
				t.Errorf("decided %s, want %s", got, c.want)
			}
			if r := w.command("w", "retry", `{}`); r.Refusal != nil || w.status("w").Status != "running" {
				t.Errorf("retried: %+v, the workflow is %s", r.Refusal, w.status("w").Status)
			}
			w.conserved("w")
		})
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

func sizeOf(in machine.Input, at events.Position, evs []events.Event) int {
	return len(events.EncodeRecord(&events.Record{Position: at, Workflow: in.Workflow, Events: evs}))
}
