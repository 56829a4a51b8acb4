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
	if e.Idle == a.open {
		c.fail(rec, "%s has an attempt open: %t, and its worker is told: %t", e.Runnable, a.open, !e.Idle)
	}
	if !a.open { // it was handed back, and what follows closes it
		a.open = true
		r.active++
	}
	c.failed(rec, r, e.Runnable, e.Action, e.Error, "")
}
