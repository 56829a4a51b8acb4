package planner

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// aRetryInPieces is a run of two steps, of which one has failed and is being retried in pieces,
// while the other is still active.
func aRetryInPieces(t *testing.T, retry string) (w *world, active events.Task) {
	w = newWorld(t, setting{budget: machine.Budget{Events: 1, Bytes: 1 << 20, Steps: 1 << 20, Tasks: 1 << 20}})
	w.defs["d"] = components(3, `"step":"f.id","policy":{"max_retries":0}`)
	if r := w.startsWith("1"); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	w.fails(w.tasks[0])
	w.fails(w.tasks[1])
	w.held = true
	if r := w.command("w", "retry", retry); r.Refusal != nil || !w.inHand("w") {
		t.Fatalf("%+v, in hand: %t", r.Refusal, w.inHand("w"))
	}
	return w, w.tasks[2]
}

// fails lets an attempt fail.
func (w *world) fails(task events.Task) {
	w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeFailed}})
}

// A retry is over when nothing that has failed is left: what fails behind that is not tried again
// by it, and a pause that came behind it stays in force.
func TestAnEarlierRetryDoesNotRetryWhatFailsLater(t *testing.T) {
	for _, retry := range []string{`{}`, `{"runnables":["r1","r2","r3"]}`} {
		w, active := aRetryInPieces(t, retry)
		for w.status("w").Status == "failed" {
			w.goesOn("w")
		}
		w.command("w", "pause", `{}`)
		w.fails(active)
		for w.inHand("w") {
			w.goesOn("w")
		}
		if s := w.status("w"); s.Status != "failed" || s.Counts.Failed != 1 {
			t.Errorf("behind the retry %s, what failed later is %s with %+v", retry, s.Status, s.Counts)
		}
	}
}

// While a retry is carried out in pieces, the workflow still says that it has failed: whoever asks for it
// learns that it has not drained, until it runs on.
func TestAWorkflowThatIsBeingRetriedSaysSo(t *testing.T) {
	w, active := aRetryInPieces(t, `{}`)
	w.fails(active)
	n := 0
	for ; w.status("w").Status == "failed"; n++ {
		if s := w.status("w"); !s.InHand {
			t.Fatalf("behind %d pieces it says that nothing is in hand", n)
		}
		w.goesOn("w")
	}
	if s := w.status("w"); n == 0 || s.Status != "running" || s.InHand || s.Counts.Failed > 0 {
		t.Errorf("after %d pieces it is %s, with something in hand: %t, and %+v", n, s.Status, s.InHand, s.Counts)
	}
	w.held, w.tasks = false, w.tasks[3:]
	w.goesOn("w")
	w.run()
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 3 {
		t.Errorf("in the end it is %s with %+v", s.Status, s.Counts)
	}
}

// Where something else has failed, too, the workflow says in the end that nothing is in hand.
func TestAFailedWorkflowSaysInTheEndThatNothingIsInHand(t *testing.T) {
	w, active := aRetryInPieces(t, `{"component":"c1"}`)
	w.fails(active)
	for w.inHand("w") {
		w.goesOn("w")
	}
	if s := w.status("w"); s.Status != "failed" || s.InHand || s.Counts.Failed != 2 || s.Counts.Ready != 1 {
		t.Errorf("it is %s, with something in hand: %t, and %+v", s.Status, s.InHand, s.Counts)
	}
}
