package pool

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/machine"
)

func TestD01AStoppingRunnerDrains(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1, 2, 3)
	r.says(events.TaskRunning, 1, 2)
	r.report(events.RunnerReport{Stopping: true})
	s := w.of(r)
	want(t, "its state", s.State, "draining")
	if s.DrainTS == "" || s.ExpiredTS == "" {
		t.Errorf("%+v", s)
	}
	want(t, "stop commands", r.stopped(), []string{"1 going_away", "2 going_away", "3 going_away"})
	want(t, "told", w.told(), []string{"3 returned"}) // which had not begun
	w.offer(4)
	want(t, "started", r.started(), []int{1, 2, 3})
	r.says(events.TaskStopped, 1)    // it was done in time
	r.says(events.TaskUnfinished, 2) // it was not
	want(t, "told", w.told(), []string{"3 returned", "2 lost"})
	want(t, "its state", w.of(r).State, "draining")
	r.report(events.RunnerReport{Closed: "pegboard.runner_shutdown"})
	want(t, "its state", w.of(r).State, "stopped")
}

func TestD05WhatNeverStopsIsLost(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	r.says(events.TaskRunning, 1)
	r.report(events.RunnerReport{Stopping: true})
	begun := w.now
	w.until(begun + w.m.settings.Drain.Milliseconds())
	w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: r.conn}})
	w.until(begun + w.m.settings.Drain.Milliseconds() + w.m.settings.Threshold.Milliseconds())
	want(t, "told", w.told(), []string{"1 lost"})
	want(t, "its state", w.of(r).State, "stopped")
}

func (w *world) operator(key string, now bool) []events.Event {
	w.t.Helper()
	b := &events.StopRunner{Runner: key, Now: now, By: events.By{Who: "ann"}}
	return w.decide(machine.Input{Command: &events.Command{Name: "stop_runner", Body: b}})
}

func TestD07AnOperatorStopsARunner(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	r.says(events.TaskRunning, 1)
	w.operator("a", false)
	want(t, "its state", w.of(r).State, "draining")
	want(t, "stop commands", r.stopped(), []string{"1 going_away"})
	want(t, "closed", w.closed(), nil)
	r.says(events.TaskStopped, 1)
	want(t, "its state", w.of(r).State, "stopped")
	want(t, "closed", w.closed(), []string{frames.CloseEviction.Reason})
}

func TestAnOperatorStopsARunnerAtOnce(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	w.operator(r.id, true)
	want(t, "told", w.told(), []string{"1 lost"})
	want(t, "closed", w.closed(), []string{frames.CloseEviction.Reason})
	for _, of := range []string{"a", r.id, "nobody"} {
		list := w.operator(of, false)
		if _, is := list[0].(*events.CommandRefused); !is {
			t.Errorf("stopping %s: %+v", of, list)
		}
	}
}

func TestD10ANewVersionDrainsTheOlder(t *testing.T) {
	for _, upgrade := range []bool{true, false} {
		w := newWorld(t, Options{Upgrade: upgrade})
		older := w.connect("older", 1, 4)
		w.offer(1)
		older.says(events.TaskRunning, 1)
		w.connect("newer", 2, 4)
		state := map[bool]string{true: "draining", false: "connected"}[upgrade]
		want(t, "the older is", w.of(older).State, state)
	}
}

func TestR03AnUnconfirmedStartIsLost(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	for range w.m.settings.Confirm.Milliseconds() / 5000 {
		w.now += 5000
		w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: "x"}}})
	}
	w.until(w.now)
	want(t, "told", w.told(), []string{"1 lost"})
	want(t, "stop commands", r.stopped(), []string{"1 lost"})
	w.offer(2)
	want(t, "started while it confirms nothing", r.started(), []int{1})
	r.report(events.RunnerReport{Received: 2})
	want(t, "started", r.started(), []int{1, 2})
}

func TestASilentExecutorsSocketsAreGone(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	r.says(events.TaskRunning, 1)
	w.until(w.now + w.m.settings.Silence.Milliseconds())
	want(t, "its state", w.of(r).State, "lost")
	r.again("y")
	want(t, "its state", w.of(r).State, "connected")
	want(t, "told", w.told(), nil)
}

// An executor whose words nobody read for long learns that its sockets were taken for gone.
func TestAnExecutorThatWasTakenForGoneClosesItsSockets(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.until(w.now + w.m.settings.Silence.Milliseconds())
	from := len(w.sent)
	w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: r.conn.Executor}}})
	want(t, "sent", w.sent[from:], []events.RunnerCommands{{To: events.Connection{Executor: "x"}, Pool: id, Runner: id, Close: frames.CloseGoingAway.Reason}})
}

func TestAWithdrawnAttemptIsStopped(t *testing.T) {
	w := newWorld(t, Options{})
	w.offer(1)
	w.withdraw(1)
	r := w.connect("a", 1, 1)
	want(t, "started", r.started(), nil)
	w.offer(2)
	r.says(events.TaskRunning, 2)
	w.withdraw(2)
	w.withdraw(2)
	want(t, "stop commands", r.stopped(), []string{"2 cancelled"})
	r.says(events.TaskUnfinished, 2)
	want(t, "told", w.told(), nil)
	w.withdraw(3) // which comes later
	w.offer(3)
	want(t, "started", r.started(), []int{2})
}

func TestAnAttemptIsTakenOnce(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	w.offer(1)
	want(t, "started", r.started(), []int{1})
	w.hear(2, events.PoolMessage{Verb: events.PoolOffer}, true)
	want(t, "told", w.told(), []string{"2 returned"})
}

func TestAPoolThatHasNothingHasNoRows(t *testing.T) {
	w := newWorld(t, Options{})
	r := w.connect("a", 1, 4)
	w.offer(1)
	r.says(events.TaskStopped, 1)
	r.report(events.RunnerReport{Closed: "the socket broke"})
	w.withdraw(9)
	for w.fire() {
	}
	want(t, "rows", len(w.state.Keys()), 0)
}
