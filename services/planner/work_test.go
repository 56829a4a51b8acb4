package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// widest is how many components the largest definition has.
const widest = 5000

// aWideRun is a run of so many steps that are open together.
func aWideRun(t *testing.T, n int, s setting) *world {
	w := newWorld(t, s)
	w.maxActive = n
	w.p = w.planner()
	w.defs["d"] = strings.TrimSuffix(components(n, `"step":"f.id","policy":{"max_retries":0}`), "}") + `,"options":{"max_concurrency":` + fmt.Sprint(n) + `}}`
	if r := w.startsWith("1"); r.Refusal != nil {
		t.Fatal(r.Refusal.Message)
	}
	return w
}

// bounded checks that no record since has more events than a decision may add, and what
// its last unit adds on top.
func (w *world) bounded(since int) {
	w.t.Helper()
	for i, n := range w.records[since:] {
		if n > machine.DefaultEvents+16 {
			w.t.Fatalf("record %d has %d events", since+i, n)
		}
	}
}

// The largest definition runs, is cancelled, fails, is retried, skipped and deleted in
// records each of which is small.
func TestAWideRunIsDecidedInPieces(t *testing.T) {
	w := aWideRun(t, widest, setting{})
	if s := w.status("w"); s.Counts.Active != widest {
		t.Fatalf("%+v", s.Counts)
	}
	w.bounded(0)
	t.Run("cancelled", func(t *testing.T) {
		w := aWideRun(t, widest, setting{})
		w.command("w", "cancel", `{}`)
		if s := w.status("w"); s.Status != "cancelled" || s.Counts.Cancelled != widest {
			t.Errorf("%s with %+v", s.Status, s.Counts)
		}
		if len(w.cancelled) != widest {
			t.Errorf("%d workers are told", len(w.cancelled))
		}
		w.bounded(0)
		w.command("w", "delete", `{}`)
		w.bounded(0)
		w.gone()
	})
	t.Run("deleted", func(t *testing.T) {
		w := aWideRun(t, widest, setting{})
		w.command("w", "delete", `{"force":true}`)
		if len(w.cancelled) != widest {
			t.Errorf("%d workers are told", len(w.cancelled))
		}
		w.bounded(0)
		w.gone()
	})
	t.Run("completed", func(t *testing.T) {
		w.run()
		if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != widest {
			t.Errorf("%s with %+v", s.Status, s.Counts)
		}
		w.bounded(0)
	})
}

// gone checks that nothing of any run is left.
func (w *world) gone() {
	w.t.Helper()
	for _, k := range w.state.Keys() {
		w.t.Fatalf("%+v is left", k)
	}
}

// A skip that suppresses all of the largest graph is parted too, and its reply comes
// with the first piece.
func TestASkipThatSuppressesAWideGraph(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = components(widest-1, `"step":"f.id","after":"root"`, `"root":{"step":"f.ask"}`)
	w.startsWith("1")
	w.held = true
	if r := w.command("w", "skip", `{"runnable":"r1"}`); r.Refusal != nil || !w.inHand("w") {
		t.Fatalf("%+v, in hand: %t", r.Refusal, w.inHand("w"))
	}
	if s := w.status("w"); s.Status != "running" || s.Counts.Suppressed == 0 {
		t.Errorf("behind the first piece it is %s with %+v", s.Status, s.Counts)
	}
	for w.inHand("w") {
		w.goesOn("w")
		w.conservedCounts()
	}
	if s := w.status("w"); s.Status != "idle" || s.Counts.Suppressed != widest-1 {
		t.Errorf("%s with %+v", s.Status, s.Counts)
	}
	w.bounded(0)
}

// conservedCounts checks that each scope counts what is open in it.
func (w *world) conservedCounts() {
	w.t.Helper()
	open := map[events.ScopeID]uint64{}
	for _, k := range w.state.Keys() {
		switch r := w.state.Get(k, nil).(type) {
		case *runnable:
			if r.Status.open() || r.Status == runFailed {
				open[r.Scope]++
			}
		case *events.Work:
			if counted(r) {
				open[r.Scope]++
			}
		}
	}
	for _, o := range w.state.Get(headerKey("w"), nil).(*header).Scopes {
		if o.Open != open[o.Scope] {
			w.t.Fatalf("scope %s counts %d open, they are %d", o.Scope, o.Open, open[o.Scope])
		}
	}
}

// Runnables that have failed are retried in pieces: those of before the command, once.
func TestARetryOfManyIsParted(t *testing.T) {
	for _, body := range []string{`{}`, `{"component":"s"}`, `{"runnables":["r1","r3","r300","r600","r9999"]}`} {
		w := newWorld(t, setting{restart: false})
		w.maxActive = 2000
		w.p = w.planner()
		w.defs["d"] = `{"name":"d","options":{"max_concurrency":2000},"components":{"s":{"step":"f.id","policy":{"max_retries":0}}}}`
		w.command("w", "start", `{"definition":"d"}`)
		for range 600 {
			w.command("w", "input", `{"input":1}`)
		}
		for _, task := range w.tasks {
			w.decide(machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeFailed}})
		}
		w.tasks = nil
		before := len(w.records)
		w.command("w", "retry", body)
		want := 600
		if strings.Contains(body, "r1") {
			want = 4
		}
		w.bounded(before)
		s := w.status("w")
		if got := s.Counts.Active + s.Counts.Ready; int(got) != want || s.Counts.Failed != uint64(600-want) {
			t.Fatalf("%s: %s with %+v", body, s.Status, s.Counts)
		}
		w.run()
	}
}

// The drain limit takes back many attempts in pieces, and the workflow has stopped when
// the last of them is.
func TestADrainOfManyIsParted(t *testing.T) {
	w := aWideRun(t, 2000, setting{})
	w.command("w", "stop", `{"drain":"1s"}`)
	before := len(w.records)
	w.advance(2000)
	if s := w.status("w"); s.Status != "stopped" || s.Counts.Ready != 2000 {
		t.Errorf("%s with %+v", s.Status, s.Counts)
	}
	w.bounded(before)
	if next := w.timer(); next != nil {
		t.Errorf("a timer is left: %+v", next)
	}
	w.tasks = nil
	w.command("w", "resume", `{}`)
	w.run()
	if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 2000 {
		t.Errorf("%s with %+v", s.Status, s.Counts)
	}
}

// What comes in between finds a workflow that is cancelling, or gone.
func TestWhatComesAmidACancellation(t *testing.T) {
	begin := func(t *testing.T, n int, command, body string) *world {
		w := aWideRun(t, n, setting{})
		w.held = true
		w.command("w", command, body)
		if !w.inHand("w") {
			t.Fatal("nothing is in hand")
		}
		return w
	}
	end := func(w *world) {
		w.held = false
		for w.inHand("w") {
			w.goesOn("w")
		}
	}
	last := func(w *world) events.Task { return w.tasks[len(w.tasks)-1] }
	done := func(w *world) machine.Input {
		return machine.Input{Workflow: "w", Inbox: &events.TaskOutcome{Token: last(w).Token, Outcome: events.OutcomeCompleted}}
	}
	for _, c := range []struct{ command, body, want string }{
		{"pause", `{}`, "closed"}, {"resume", `{}`, "closed"}, {"stop", `{}`, "closed"}, {"input", `{"input":1}`, "closed"},
		{"retry", `{}`, "closed"}, {"checkpoint", `{}`, "closed"}, {"cancel", `{}`, ""},
		{"start", `{"definition":"d"}`, "already_started"},
	} {
		t.Run(c.command, func(t *testing.T) {
			w := begin(t, 600, "cancel", `{}`)
			if s := w.status("w"); s.Status != "cancelling" {
				t.Errorf("it is %s", s.Status)
			}
			if got := codeOf(w.command("w", c.command, c.body)); got != c.want {
				t.Errorf("refused with %q, want %q", got, c.want)
			}
			end(w)
			if s := w.status("w"); s.Status != "cancelled" || s.Counts.Cancelled != 600 {
				t.Errorf("%s with %+v", s.Status, s.Counts)
			}
		})
	}
	t.Run("an outcome, a loss and a timer", func(t *testing.T) {
		w := begin(t, 2000, "cancel", `{}`)
		status := func(id events.RunnableID) RunnableStatus {
			return w.state.Get(runnableKey("w", id), nil).(*runnable).Status
		}
		if _, ok := w.p.Task(rows.Begin(&w.state), "w", &machine.Attempt{Attempt: 1, Decided: w.state.Get(runnableKey("w", 2000), nil).(*runnable).Decided}, 2000); ok {
			t.Error("a task is published again")
		}
		w.decide(done(w))
		if got := status(2000); got != runCancelled || w.cancelled[string(last(w).Token)] {
			t.Errorf("what has ended is %s, its worker told: %t", got, w.cancelled[string(last(w).Token)])
		}
		w.decide(machine.Input{Workflow: "w", Lost: &machine.Lost{Runnable: 1999, Attempt: 1, Reason: "gone"}})
		if got := status(1999); got != runCancelled {
			t.Errorf("what is lost is %s", got)
		}
		end(w)
		if s := w.status("w"); s.Status != "cancelled" || s.Counts.Cancelled != 2000 {
			t.Errorf("%s with %+v", s.Status, s.Counts)
		}
	})
	t.Run("a deletion", func(t *testing.T) {
		w := begin(t, 2000, "cancel", `{}`)
		if r := w.command("w", "delete", `{}`); r.Refusal != nil {
			t.Error(r.Refusal.Message)
		}
		end(w)
		w.gone()
	})
	t.Run("commands to what is being deleted", func(t *testing.T) {
		w := begin(t, 2000, "delete", `{"force":true}`)
		if code := codeOf(w.command("w", "pause", `{}`)); code != "not_found" {
			t.Errorf("a pause is refused with %q", code)
		}
		if r := w.p.Query(rows.Begin(&w.state), w.now, &events.Query{Kind: "workflow", Workflow: "w"}); codeOf(r) != "not_found" {
			t.Errorf("a query is answered with %+v", r)
		}
		if r := w.command("w", "delete", `{}`); r.Result != events.ResultNoChange {
			t.Errorf("another deletion: %+v", r)
		}
		end(w)
		w.gone()
	})
	t.Run("a start of what is being deleted", func(t *testing.T) {
		w := begin(t, 2000, "delete", `{"force":true}`)
		w.held = false
		w.tasks = nil
		w.defs["e"] = `{"name":"e","components":{"a":{"step":"f.id"}}}`
		if r := w.command("w", "start", `{"definition":"e","input":1}`); r.Refusal != nil {
			t.Fatal(r.Refusal.Message)
		}
		if last := w.statuses[len(w.statuses)-1]; last != "running" {
			t.Errorf("the summary says %q", last)
		}
		w.run()
		if s := w.status("w"); s.Status != "idle" || s.Counts.Completed != 1 || s.Counts.Cancelled != 0 {
			t.Errorf("%s with %+v", s.Status, s.Counts)
		}
		w.command("w", "delete", `{"force":true}`)
		w.gone()
	})
}

// A run that was cancelled in the middle of a spread forgets what was to follow.
func TestACancellationDropsWhatIsInHand(t *testing.T) {
	w := newWorld(t, setting{})
	w.defs["d"] = components(2000, `"expr":"input","in":"root"`, `"root":{"expr":"input"}`)
	w.held = true
	w.startsWith("1")
	if !w.inHand("w") {
		t.Fatal("nothing is in hand")
	}
	w.held = false
	w.command("w", "cancel", `{}`)
	s := w.status("w")
	if s.Status != "cancelled" || s.Counts.Completed != 0 || w.inHand("w") {
		t.Errorf("%s with %+v", s.Status, s.Counts)
	}
	w.command("w", "delete", `{}`)
	w.gone()
}
