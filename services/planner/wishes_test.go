package planner

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// asleep has a step whose attempts the test ends.
const asleep = `{"name":"d","components":{"a":{"step":"f.id","policy":{"max_retries":1,"base_delay":"1ms","start_timeout":"5s","heartbeat_timeout":"7s","timeout":"9s"}}}}`

func asleepWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, setting{restart: true})
	w.defs["d"], w.idle = asleep, true
	if r := w.startsWith("1"); r.Result != events.ResultDone {
		t.Fatalf("the start: %+v", r.Refusal)
	}
	return w
}

// begins is the next attempt, which a runner has begun.
func (w *world) begins() events.Task {
	w.t.Helper()
	task, ok := w.next()
	if !ok {
		w.t.Fatalf("there is no attempt: %+v", w.openRunnables("w"))
	}
	w.hears(&events.TaskNotified{Token: task.Token, Executor: "x", Detached: true})
	return task
}

// hears decides what comes from the inbox, and names its events.
func (w *world) hears(m events.InboxMessage) string {
	w.t.Helper()
	var names []string
	for _, e := range w.decide(machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: m}) {
		names = append(names, events.Name(e))
	}
	return strings.Join(names, " ")
}

func (w *world) runnable(t *testing.T) runnableView {
	t.Helper()
	all := w.openRunnables("w")
	if len(all) != 1 {
		t.Fatalf("there are %+v", all)
	}
	return all[0]
}

func TestAnAttemptSleepsUntilItsAlarm(t *testing.T) {
	w := asleepWorld(t)
	task := w.begins()
	at := w.now + 60_000
	equal(t, "an alarm", w.hears(&events.TaskWish{Token: task.Token, Sets: true, Alarm: at + 1}), "AlarmSet")
	equal(t, "another one", w.hears(&events.TaskWish{Token: task.Token, Sets: true, Alarm: at}), "AlarmSet")
	equal(t, "the same", w.hears(&events.TaskWish{Token: task.Token, Sets: true, Alarm: at}), "")
	w.command("w", "keep", `{"token":"`+events.TokenText(task.Token)+`","put":[{"key":"n","value":1}]}`)
	equal(t, "sleep", w.hears(&events.TaskWish{Token: task.Token, Sleep: true}), "RunnableParked")
	equal(t, "again", w.hears(&events.TaskWish{Token: task.Token, Sleep: true}), "")
	if r := w.runnable(t); r.Kept == nil || r.Kept.Keys != 1 || r.Kept.Bytes != 2 {
		t.Errorf("it is shown to keep %+v", r.Kept)
	}
	if r := w.runnable(t); r.Status != "waiting" || r.DueAt != events.Stamp(at).String() || r.WaitsFor != "its alarm, until which attempt 1 sleeps" ||
		len(r.Attempts) != 1 || r.Attempts[0].Outcome != "slept" || r.Attempts[0].Error != nil {
		t.Errorf("it is shown as %+v", r)
	}
	equal(t, "an end of an attempt that sleeps", w.hears(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeFailed}), "")
	w.advance(59_999) // longer than any limit of an attempt
	if len(w.tasks) > 0 {
		t.Fatalf("it goes on with %+v", w.tasks)
	}
	w.advance(1)
	task = w.begins()
	equal(t, "what is kept", w.keptBy("a"), "n=1")
	if task.Attempt != 2 || w.state.Get(runnableKey("w", 1), nil).(*runnable).Alarm != 0 {
		t.Errorf("it goes on as %+v", task)
	}

	// It has failed no more than before: one more attempt is left.
	equal(t, "a failure", w.hears(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeFailed}), "RunnableFailed RetryScheduled RunnableDispatched")
	task = w.begins()
	equal(t, "at once", w.hears(&events.TaskWish{Token: task.Token, Sets: true, Alarm: 1, Sleep: true}), "AlarmSet RunnableParked RunnableDispatched")
	task = w.begins()
	equal(t, "the end", w.hears(&events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Result: []byte("5")}), "RunnableCompleted InputSettled WorkflowIdle")
}

func TestAnAttemptThatSleepsWithoutAnAlarmFails(t *testing.T) {
	w := asleepWorld(t)
	task := w.begins()
	w.hears(&events.TaskWish{Token: task.Token, Sets: true, Alarm: w.now + 1000})
	equal(t, "taken back", w.hears(&events.TaskWish{Token: task.Token, Sets: true}), "AlarmSet")
	equal(t, "sleep", w.hears(&events.TaskWish{Token: task.Token, Sleep: true}), "RunnableFailed WorkflowFailed")
	if r := w.runnable(t); r.Error == nil || r.Error.Type != events.ErrorNoAlarm {
		t.Errorf("it is shown as %+v", r)
	}
}

// What sleeps does what all that waits does when its run is paused, stopped, cancelled or skipped.
func TestWhatSleepsIsEndedByCommands(t *testing.T) {
	sleeping := func() *world {
		w := asleepWorld(t)
		w.hears(&events.TaskWish{Token: w.begins().Token, Sets: true, Alarm: w.now + 1000, Sleep: true})
		return w
	}
	w := sleeping()
	w.command("w", "pause", "{}")
	w.advance(2000)
	if len(w.tasks) > 0 || w.runnable(t).Status != "ready" {
		t.Errorf("paused, it is %+v", w.runnable(t))
	}
	w.command("w", "resume", "{}")
	w.begins()
	for _, name := range []string{"stop", "cancel", "skip"} {
		w := sleeping()
		w.command("w", name, map[string]string{"skip": `{"runnable":"r1"}`}[name]+map[bool]string{true: "{}"}[name != "skip"])
		if name == "stop" {
			w.command("w", "resume", "{}")
			w.advance(1000)
			w.begins()
			continue
		}
		if w.timer() != nil {
			t.Errorf("%s leaves a timer", name)
		}
	}
}
