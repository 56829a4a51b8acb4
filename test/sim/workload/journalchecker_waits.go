package workload

import (
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// waited ends a runnable that has waited for a time, a silence or a signal: once.
func (c *journalChecker) waited(rec *events.Record, r *run, id events.RunnableID) {
	a := r.runnables[id]
	if a.ended != "" {
		c.fail(rec, "%s has waited, and ended %q before", id, a.ended)
	}
	a.ended = "completed"
}

// received holds that a signal is a new one.
func (c *journalChecker) received(rec *events.Record, r *run, e *events.SignalReceived) {
	if _, known := r.signals[e.Signal]; known || e.Signal == 0 {
		c.fail(rec, "signal %d is received again", e.Signal)
	}
	r.signals[e.Signal] = e.Name + " " + e.Key
}

// taken holds that a signal is taken once, by a component that waits for its name, and
// no older one of that name and key is left.
func (c *journalChecker) taken(rec *events.Record, r *run, e *events.SignalTaken) {
	c.waited(rec, r, e.Runnable)
	what, kept := r.signals[e.Signal]
	of := r.runnables[e.Runnable].Component
	if !kept || of.waits != forSignal {
		c.fail(rec, "%s of %s takes the signal %d, which is kept: %v", e.Runnable, of.Name, e.Signal, kept)
		return
	}
	if !strings.HasPrefix(what, of.signal()+" ") {
		c.fail(rec, "%s of %s takes the signal %q", e.Runnable, of.Name, what)
	}
	for n, other := range r.signals {
		if n < e.Signal && other == what {
			c.fail(rec, "%s takes the signal %d, and %d is older", e.Runnable, e.Signal, n)
		}
	}
	delete(r.signals, e.Signal)
}

// reminded holds that a signal is reminded of in time, and no more often than it may be.
func (c *journalChecker) reminded(rec *events.Record, r *run, e *events.TimerMoved) {
	a := r.runnables[e.Runnable]
	if e.Reminded == 0 { // a silence was broken
		return
	}
	m := a.Component.remind
	if a.reminders++; e.Reminded != a.reminders || m == nil || a.reminders > uint64(m.most) || a.ended != "" {
		c.fail(rec, "%s is reminded of for the %d. time, behind %d; it has ended %q", e.Runnable, e.Reminded, a.reminders-1, a.ended)
		return
	}
	if wait := rec.Time - a.since; wait < m.every.Milliseconds() {
		c.fail(rec, "%s is reminded of after %d ms, and it is to be after %s", e.Runnable, wait, m.every)
	}
	a.since = rec.Time
}

// impatient ends the wait for a signal that nobody sends, not before its time is over.
func (c *journalChecker) impatient(rec *events.Record, id events.RunnableID, a *attempts, err events.TaskError) {
	if !a.Component.deaf || err.Type != events.ErrorTimeout || a.ended != "" || rec.Time < a.awaits+a.Component.patience.Milliseconds() {
		c.fail(rec, "%s fails as %s after %d ms; it has ended %q", id, err.Type, rec.Time-a.awaits, a.ended)
	}
	a.ended = "skipped"
}
