package planner

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// lose lets the worker of a component's open attempt vanish.
func (w *world) lose(id, component string) {
	w.t.Helper()
	for i, task := range w.tasks {
		token, err := events.PeekToken(task.Token)
		w.must(err)
		if token.Workflow != id || task.Component != component {
			continue
		}
		w.tasks = append(w.tasks[:i:i], w.tasks[i+1:]...)
		w.active--
		w.vanished = append(w.vanished, task)
		in := machine.Input{Workflow: id, Source: events.FromEngine, Lost: &machine.Lost{Runnable: token.Runnable, Attempt: token.Attempt, Reason: "its worker is gone"}}
		if len(w.decide(in)) == 0 {
			w.t.Fatalf("the loss of %s changed nothing", task.Task)
		}
		if again := w.decide(in); len(again) > 0 {
			w.t.Fatalf("a repeated loss made %s", events.Name(again[0]))
		}
		return
	}
	w.t.Fatalf("%s has no attempt open of %s", id, component)
}

// hasBegun lets the worker of a component's open attempt say that it has begun. That it says so again
// changes nothing.
func (w *world) hasBegun(id, component string) {
	w.t.Helper()
	in := machine.Input{Workflow: id, Source: events.FromInbox, Inbox: &events.TaskNotified{Token: w.taskOf(id, component).Token, Executor: "x"}}
	if len(w.decide(in)) == 0 {
		w.t.Fatalf("that %s of %s has begun changed nothing", component, id)
	}
	if again := w.decide(in); len(again) > 0 {
		w.t.Fatalf("a repeated begin made %s", events.Name(again[0]))
	}
}

// beat gives a heartbeat of a component's open attempt.
func (w *world) beat(id, component, details string) {
	w.t.Helper()
	in := machine.Input{Workflow: id, Source: events.FromInbox, Inbox: &events.TaskHeartbeat{Token: w.taskOf(id, component).Token, Details: json.RawMessage(details)}}
	if changed := len(w.decide(in)) > 0; changed != (details != "") {
		w.t.Fatalf("a heartbeat of %s of %s with the details %q has changed something: %t", component, id, details, changed)
	}
}

// taskOf is the newest task that was published for a component and is not done.
func (w *world) taskOf(id, component string) events.Task {
	w.t.Helper()
	for i := len(w.tasks) - 1; i >= 0; i-- {
		token, err := events.PeekToken(w.tasks[i].Token)
		w.must(err)
		if token.Workflow == id && w.tasks[i].Component == component {
			return w.tasks[i]
		}
	}
	w.t.Fatalf("%s has no attempt open of %s", id, component)
	return events.Task{}
}

// beganBy is the attempt that has begun the work of an attempt.
func (w *world) beganBy(token, work []byte) uint32 {
	w.t.Helper()
	if len(work) > 0 {
		token = work
	}
	t, err := events.PeekToken(token)
	w.must(err)
	if again := w.p.sealer.Seal(t); string(again) != string(token) {
		w.t.Fatalf("attempt %d has not begun its work under the token that it had", t.Attempt)
	}
	return t.Attempt
}

// arrive delivers what lost workers have made of a component's attempts.
func (w *world) arrive(id, component string) {
	w.t.Helper()
	for _, task := range w.vanished {
		token, err := events.PeekToken(task.Token)
		w.must(err)
		if token.Workflow == id && task.Component == component {
			w.deliver(w.execute(task))
		}
	}
}

// attempts prints what became of each attempt of each runnable.
func (w *world) attempts(out io.Writer, id string) {
	for _, r := range w.openRunnables(id) {
		fmt.Fprintf(out, "%s %s", r.Component, r.Status)
		if r.Fallback != "" {
			fmt.Fprintf(out, " fallback=%s", r.Fallback)
		}
		for _, a := range r.Attempts {
			fmt.Fprintf(out, " %d:%s", a.Attempt, a.Outcome)
			if a.For != "" {
				fmt.Fprintf(out, "(%s)", a.For)
			}
		}
		if r.Error != nil {
			fmt.Fprintf(out, " %s: %s", r.Error.Type, r.Error.Message)
		}
		fmt.Fprintln(out)
	}
}
