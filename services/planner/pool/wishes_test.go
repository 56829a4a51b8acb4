package pool

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

func TestAnAttemptThatWantsToStopIsToldTo(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1)
	r.says(events.TaskLeaving, 1)
	want(t, "stop commands", r.stopped(), []string{"1 requested"})
	r.says(events.TaskLeaving, 1)
	want(t, "stop commands, asked for again", r.stopped(), []string{"1 requested"})
	want(t, "started, while its slot is not free", r.started(), []int{1})
	r.says(events.TaskStopped, 1)
	want(t, "told", w.told(), nil)
	want(t, "started", r.started(), []int{1, 2})
	r.says(events.TaskLeaving, 1) // it is over
	want(t, "stop commands", r.stopped(), []string{"1 requested"})
}

// An attempt that sleeps has no outcome: its workflow passes over what the pool says of it.
func TestAnAttemptThatSleepsFreesItsSlot(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 1)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1)
	r.says(events.TaskLeaving, 1)
	r.says(events.TaskUnfinished, 1)
	want(t, "told", w.told(), []string{"1 lost"})
	want(t, "started", r.started(), []int{1, 2})
}

// One that wanted to stop and does not is lost, and so is one whose runner drains meanwhile.
func TestAnAttemptThatWantsToStopAndDoesNotIsLost(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 2)
	w.offer(1, 2)
	r.says(events.TaskRunning, 1, 2)
	r.says(events.TaskLeaving, 1)
	for range w.m.settings.Confirm.Milliseconds() / 5000 {
		w.now += 5000
		w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: "x"}}})
	}
	w.until(w.now)
	want(t, "told", w.told(), []string{"1 lost"})
	r.report(events.RunnerReport{Stopping: true})
	r.says(events.TaskLeaving, 2)
	want(t, "stop commands", r.stopped(), []string{"1 requested", "2 going_away"})
}
