package workload

import (
	"github.com/heddle-run/heddle/shared/events"
)

// bounded holds that a dispatch says until when a worker must have begun it: so long after the
// first one that no worker has begun.
func (c *journalChecker) bounded(rec *events.Record, a *attempts, e *events.RunnableDispatched) {
	limit := a.policy.StartTimeout.Milliseconds()
	if limit == 0 || a.Component.Acts.External {
		if e.StartBy != 0 {
			c.fail(rec, "attempt %d of %s must be begun by %d, and its policy has no limit", e.Attempt, e.Runnable, e.StartBy)
		}
		return
	}
	if a.waits == 0 {
		a.waits = rec.Time
	}
	if want := a.waits + limit; e.StartBy != want {
		c.fail(rec, "attempt %d of %s must be begun by %d, want %d", e.Attempt, e.Runnable, e.StartBy, want)
	}
}

// notBegun follows an attempt, open or handed back, that no worker has begun in time.
func (c *journalChecker) notBegun(rec *events.Record, r *run, e *events.RunnableTimedOut) {
	a := r.runnables[e.Runnable]
	due := a.waits + a.policy.StartTimeout.Milliseconds()
	if a.waits == 0 || rec.Time < due {
		c.fail(rec, "%s was to be begun by %d, it waits since %d", e.Runnable, due, a.waits)
	}
	if a.open && a.begun && e.Error.Type == events.ErrorStartTimeout {
		c.fail(rec, "attempt %d of %s has been begun, and it is said that nobody has", a.last, e.Runnable)
	}
	c.outOfTime(rec, r, e)
}

// outOfTime follows the end of a runnable's time, or of its attempt's, whether one is open or not.
func (c *journalChecker) outOfTime(rec *events.Record, r *run, e *events.RunnableTimedOut) {
	a := r.runnables[e.Runnable]
	if e.Idle == a.open {
		c.fail(rec, "%s has an attempt open: %t, and its worker is told: %t", e.Runnable, a.open, !e.Idle)
	}
	if !a.open { // what follows closes it
		a.open = true
		r.active++
	}
	c.failed(rec, r, e.Runnable, e.Action, e.Error, "")
}

// calledOff holds that the end of an attempt's time says whose worker is told of it.
func (c *journalChecker) calledOff(rec *events.Record, a *attempts, e *events.RunnableTimedOut) {
	want := a.last
	if e.Idle || a.Component.Acts.External {
		want = 0
	}
	if e.Attempt != want {
		c.fail(rec, "the worker of attempt %d of %s is told that its time is over, want that of %d; 0: none", e.Attempt, e.Runnable, want)
	}
}

// dated holds that what makes a runnable, or makes it ready again, says until when it must have ended.
func (c *journalChecker) dated(rec *events.Record, a *attempts, endBy int64) {
	want := int64(0)
	if limit := a.policy.Deadline.Milliseconds(); limit > 0 {
		want = rec.Time + limit
	}
	if a.endBy = endBy; endBy != want {
		c.fail(rec, "a runnable of %s must have ended by %d, want %d", a.Component.Name, endBy, want)
	}
}

// overdue follows the end of a runnable whose time is over.
func (c *journalChecker) overdue(rec *events.Record, r *run, e *events.RunnableTimedOut) {
	if a := r.runnables[e.Runnable]; a.endBy == 0 || rec.Time < a.endBy {
		c.fail(rec, "%s was to end by %d", e.Runnable, a.endBy)
	}
	c.outOfTime(rec, r, e)
}

// timedOut follows the end of an attempt, or of a runnable, by one of its limits.
func (c *journalChecker) timedOut(rec *events.Record, r *run, e *events.RunnableTimedOut) {
	a := r.runnables[e.Runnable]
	c.calledOff(rec, a, e)
	switch e.Error.Type {
	case events.ErrorStartTimeout, events.ErrorUnknownTask:
		c.notBegun(rec, r, e)
		return
	case events.ErrorDeadline:
		c.overdue(rec, r, e)
		return
	case events.ErrorHeartbeatTimeout:
		c.silenced(rec, r, e)
		return
	}
	if rec.Input.Source == events.FromTimer { // a worker has a timer too, and another clock
		c.timer(rec, r, e.Runnable)
	}
	if a.late++; c.steady && a.late > a.Component.Acts.Hangs && !a.Component.Acts.External {
		c.fail(rec, "%s has run out of time %d times, and hangs %d times (J5)", e.Runnable, a.late, a.Component.Acts.Hangs)
	}
	c.failed(rec, r, e.Runnable, e.Action, e.Error, "")
}
