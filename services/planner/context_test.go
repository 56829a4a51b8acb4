package planner

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// A step whose input reads the context, another that gets it with its task, and
// one of each that waits for its turn.
const contextual = `{"name":"d","options":{"max_concurrency":2},"components":{
	"a":{"step":"f.id","input":"context.x + 1"},"b":{"step":"f.offset"},
	"c":{"step":"f.id","input":"context.x + 1"},"e":{"step":"f.offset"}}}`

// A context that resume changes is that of attempts to come: open ones are made
// again as they were, once for each token (E1).
func TestAnOpenAttemptKeepsItsContext(t *testing.T) {
	for _, c := range []struct{ name, input, resume string }{
		{"another value", `{"input":1}`, `{"context":{"x":100,"off":7}}`},
		{"a value that cannot be shaped", `{"input":1}`, `{"context":{"x":"a"}}`},
		{"beside the input's own", `{"input":1,"context":{"off":3}}`, `{"context":{"x":100}}`},
		{"the same", `{"input":1}`, `{"context":{"x":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setting{restart: true})
			w.defs["d"] = contextual
			w.command("w", "start", `{"definition":"d","context":{"x":1,"off":5}}`)
			w.command("w", "input", c.input)
			if len(w.tasks) != 2 {
				t.Fatalf("%d tasks are out, want 2", len(w.tasks))
			}
			for range 2 { // the second one finds attempts that have kept theirs
				w.command("w", "pause", `{}`)
				if r := w.command("w", "resume", c.resume); r.Refusal != nil {
					t.Fatalf("%+v", r.Refusal)
				}
			}
			w.run()
			if n := w.formerContexts(); n != 0 {
				t.Errorf("%d contexts are kept that no attempt needs", n)
			}
		})
	}
}

// Every change has a context of its own to keep, for as long as an attempt of
// that time is open.
func TestEveryAttemptKeepsTheContextOfItsTime(t *testing.T) {
	w := newWorld(t, setting{restart: true})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id","input":"context.x"}}}`
	w.command("w", "start", `{"definition":"d","context":{"x":0}}`)
	for x := 1; x <= 3; x++ {
		w.command("w", "input", `{"input":1}`)
		w.command("w", "pause", `{}`)
		w.command("w", "resume", fmt.Sprintf(`{"context":{"x":%d}}`, x))
	}
	for left := 3; left > 0; left-- {
		if n := w.formerContexts(); n != left {
			t.Errorf("%d contexts are kept for %d attempts", n, left)
		}
		if got := string(w.tasks[0].Input); got != fmt.Sprint(3-left) {
			t.Errorf("the attempt got %s, the context was %d", got, 3-left)
		}
		w.step()
	}
	w.command("w", "delete", `{"force":true}`)
	if n := w.formerContexts(); n != 0 {
		t.Errorf("%d contexts are left of a run that was deleted", n)
	}
}

// The next attempt of a runnable is a new one: it gets what was given since.
func TestTheNextAttemptGetsTheNewContext(t *testing.T) {
	w := newWorld(t, setting{restart: true})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id","input":"context.x"}}}`
	w.command("w", "start", `{"definition":"d","input":1,"context":{"x":1}}`)
	w.command("w", "pause", `{}`)
	w.command("w", "resume", `{"context":{"x":2}}`)
	w.decide(machine.Input{Workflow: "w", Lost: &machine.Lost{Runnable: 1, Attempt: 1, Reason: "gone"}})
	if got := string(w.tasks[1].Input); got != "2" {
		t.Errorf("the second attempt got %s, want 2", got)
	}
	if n := w.formerContexts(); n != 0 {
		t.Errorf("%d contexts are kept that no attempt needs", n)
	}
}

// An attempt that was closed meanwhile is not made again, nor is the one of
// another run that has its number.
func TestAnotherRunsAttemptIsNotMadeAgain(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = `{"name":"d","components":{"a":{"step":"f.id"}}}`
	w.command("w", "start", `{"definition":"d","input":1}`)
	a, _ := rows.Get[runnable](rows.Begin(&w.state), runnableKey("w", 1)).OpenAttempt()
	w.command("w", "delete", `{"force":true}`)
	w.command("w", "start", `{"definition":"d","input":2}`)
	if e, ok := w.p.Task(rows.Begin(&w.state), "w", &a, 1); ok {
		t.Errorf("made again: %q", e.Value)
	}
}

// formerContexts is how many contexts are kept for open attempts.
func (w *world) formerContexts() (n int) {
	for _, k := range w.state.Keys() {
		if k.Table == rows.Header && k.A > 1 {
			n++
		}
	}
	return n
}
