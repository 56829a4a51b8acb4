package workload

import "github.com/heddle-run/heddle/shared/events"

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
	if len(what) <= len(of.Name) || what[:len(of.Name)+1] != of.Name+" " {
		c.fail(rec, "%s of %s takes the signal %q", e.Runnable, of.Name, what)
	}
	for n, other := range r.signals {
		if n < e.Signal && other == what {
			c.fail(rec, "%s takes the signal %d, and %d is older", e.Runnable, e.Signal, n)
		}
	}
	delete(r.signals, e.Signal)
}
