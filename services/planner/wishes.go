package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// maxAlarm bounds how far ahead an alarm is, in ms: in a hundred years.
const maxAlarm = 100 * 365 * 24 * 3600 * 1000

// outcomeSlept is that of an attempt which sleeps.
const outcomeSlept = "slept"

// wish takes what an open attempt wants. One that sleeps must have said when it goes on: nothing else would end that.
func (en *ends) wish(m *events.TaskWish) {
	id, r := en.runs.open(m.Token)
	if r == nil || en.head.Status.winding() {
		return
	}
	alarm := r.Alarm
	if m.Sets {
		if alarm = m.Alarm; alarm != 0 { // one that has passed is an alarm, too
			alarm = min(max(alarm, 1), en.now+maxAlarm)
		}
	}
	if alarm != r.Alarm {
		en.emit(&events.AlarmSet{Runnable: id, At: alarm})
	}
	switch {
	case !m.Sleep:
	case alarm == 0:
		en.failFor(id, events.TaskError{Type: events.ErrorNoAlarm, Message: "the attempt wants to sleep, and has set no alarm", NonRetryable: true}, r.Executor, failedAttempt)
	default:
		e := &events.RunnableParked{Runnable: id, Due: max(alarm, en.now)}
		en.emit(e)
		if e.Due == en.now {
			en.queue.fresh = append(en.queue.fresh, r.place(id))
		}
	}
}

func (rs *runnables) alarmSet(e *events.AlarmSet) { rs.change(e.Runnable).Alarm = e.At }

// parked lets a runnable wait for its alarm.
func (rs *runnables) parked(e *events.RunnableParked) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	rs.attemptOver(e.Runnable, r)
	r.Past = remember(r.Past, pastAttempt{Attempt: r.Attempt, Outcome: outcomeSlept, Time: rs.now, For: r.For})
	r.Status = 0
	rs.wait(e.Runnable, e.Due)
	if r.Status == runWaiting {
		r.Alarm = e.Due
	}
}

// waitsForAlarm is what a runnable waits for whose last attempt sleeps.
func waitsForAlarm(r *runnable) string {
	return fmt.Sprintf("its alarm, until which attempt %d sleeps", r.Attempt)
}
