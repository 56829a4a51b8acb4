package pool

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/machine"
)

func (w *world) inquire(n int) []events.Event {
	w.t.Helper()
	return w.hear(n, events.PoolMessage{Verb: events.PoolInquire}, false)
}

// passes lets time pass, in which the executor of a runner says that it is there.
func (r *runner) passes(ms int64) {
	r.w.t.Helper()
	for end := r.w.now + ms; r.w.now < end; {
		r.w.until(min(r.w.now+5000, end))
		r.w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: r.conn.Executor}}})
	}
}

// An attempt whose offer is lost, or of which its workflow has not heard that it has ended, is returned, and not run should the offer come.
func TestAnAttemptThatThePoolDoesNotHaveIsReturned(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	w.inquire(1)
	want(t, "told", w.told(), []string{"1 returned"})
	w.offer(1)
	want(t, "started", r.started(), nil)
	w.inquire(1) // the answer is lost, too
	want(t, "told", w.told(), []string{"1 returned", "1 returned"})
	w.offer(2)
	r.says(events.TaskRunning, 2)
	r.says(events.TaskStopped, 2)
	w.inquire(2)
	want(t, "told", w.told(), []string{"1 returned", "1 returned", "2 returned"})
	w.until(w.now + w.m.settings.Remember.Milliseconds())
	want(t, "offers that are forestalled", w.turn().numberOf(byForestalled, string(token(1))), uint64(0))
}

// What the pool has it goes on with, and the question leaves no trace.
func TestAnAttemptThatThePoolHasStays(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	w.offer(1, 2)
	for _, n := range []int{1, 2} {
		want(t, "events", len(w.inquire(n)), 0)
	}
	r.says(events.TaskRunning, 1)
	want(t, "events", len(w.inquire(1)), 0)
	r.says(events.TaskStopped, 1)
	want(t, "started", r.started(), []int{1, 2})
	want(t, "told", w.told(), nil)
}

// The word that an attempt has ended may be lost, or that it is not wanted: its workflow is asked, each time later, and its slot is free once that
// has withdrawn it.
func TestAWorkflowIsAskedForAnAttemptThatRunsForLong(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1)
	asked := func() (n int) {
		for _, s := range w.said {
			if s.Verb == events.PoolInquire && s.to == "w1" {
				n++
			}
		}
		return n
	}
	recheck := w.m.settings.Recheck.Milliseconds()
	for i, ms := range []int64{recheck - 1, 1, recheck, 2 * recheck} {
		r.passes(ms)
		want(t, "questions", asked(), i)
	}
	w.withdraw(1)
	want(t, "stop commands", r.stopped(), []string{"1 cancelled"})
	r.passes(w.m.settings.Confirm.Milliseconds()) // it has nothing to stop, and says nothing
	want(t, "slots in use", w.of(r).Used, uint32(0))
	r.report(events.RunnerReport{Received: r.received})
	want(t, "started", r.started(), []int{1, 2})
}

// The word that a socket is gone may be lost while its executor is there: a runner of which nothing was heard for long connects again once its attempt is
// asked for, or has lost it.
func TestARunnerIsMissedThoughItsExecutorIsThere(t *testing.T) {
	for _, there := range []bool{true, false} {
		w := newWorld(t, Options{})
		r := w.connect("a", 1, 1)
		w.offer(1)
		r.says(events.TaskRunning, 1)
		r.passes(w.m.settings.Recheck.Milliseconds() - 1)
		want(t, "events before its time", len(w.inquire(1)), 0)
		r.passes(1)
		from, first := len(w.sent), r.id
		w.inquire(1)
		want(t, "closed", w.sent[from].Close, frames.CloseGoingAway.Reason)
		if there {
			r.again("x")
			want(t, "its session", r.id, first)
		}
		r.passes(w.m.settings.Threshold.Milliseconds())
		lost := []string{"1 lost"}
		if there {
			lost = nil
		}
		want(t, "told", w.told(), lost)
	}
}

// The word that a runner is heard again may be lost: it connects again once it is wanted for what waits.
func TestARunnerThatIsPassedOverConnectsAgain(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	r.report(events.RunnerReport{Silent: true})
	w.offer(1)
	r.passes(w.m.settings.Recheck.Milliseconds())
	w.inquire(1)
	r.again("x")
	want(t, "started", r.started(), []int{1})
}
