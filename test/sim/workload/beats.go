package workload

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// manyBeats is how often a step may be tried again that gives heartbeats, which faults may keep from the planner.
const manyBeats = 60

// silent lets some steps that hang be ended by their silence alone: the numbers that are drawn already say which.
func (c *Component) silent() {
	if c.mul%2 == 0 {
		return
	}
	c.needs["heartbeat_timeout_ms"] = max(1000, c.needs["timeout_ms"].(int))
	delete(c.needs, "timeout_ms")
	c.needs["max_retries"] = manyBeats
}

// beats lets some steps that take long give heartbeats, which they must.
func (c *Component) beats() {
	if c.mul%2 == 0 {
		return
	}
	delete(c.needs, "timeout_ms")
	c.needs["heartbeat_timeout_ms"] = max(1000, int(c.Acts.Takes.Milliseconds())/2)
	c.needs["max_retries"] = manyBeats
}

// unheard lets a step give no heartbeats that fails on some inputs whatever is tried: the many attempts would take
// too long.
func (c *Component) unheard() {
	if c.needs["heartbeat_timeout_ms"] != nil {
		delete(c.needs, "heartbeat_timeout_ms")
		c.needs["max_retries"] = MaxKills + 2
	}
}

// silence is for how long (ms) the open attempt may be silent; 0: there is no limit.
func (a *attempts) silence() int64 {
	if a.asks || a.fell == policy.FallbackTask {
		return 0
	}
	return a.policy.HeartbeatTimeout.Milliseconds()
}

// lateBeats is how much longer (ms) than its limit an attempt may be silent before it ends, where nothing is disturbed.
const lateBeats = 3000

// beaten follows a sign of life of an attempt.
func (c *journalChecker) beaten(rec *events.Record, a *attempts) {
	c.heard(rec, a)
	a.beat, a.beatIn = rec.Time, rec.Position.Epoch
}

// heard holds that a silent attempt is ended soon, unless another owner has taken over since, which reads first what was
// said meanwhile.
func (c *journalChecker) heard(rec *events.Record, a *attempts) {
	if limit := a.silence(); c.steady && limit > 0 && a.open && a.beat > 0 && a.beatIn == rec.Position.Epoch && rec.Time > a.beat+limit+lateBeats {
		c.fail(rec, "attempt %d of %s is silent for %d ms, and may be for %d", a.last, a.Component.Name, rec.Time-a.beat, limit)
	}
}

// silenced follows the end of an attempt that was silent for too long: it was, and its worker is told.
func (c *journalChecker) silenced(rec *events.Record, r *run, e *events.RunnableTimedOut) {
	a := r.runnables[e.Runnable]
	if limit := a.silence(); limit == 0 || !a.open || a.beat == 0 || rec.Time < a.beat+limit {
		c.fail(rec, "attempt %d of %s ends for its silence since %d, and may be silent for %d ms", a.last, e.Runnable, a.beat, limit)
	}
	if a.late++; c.steady && a.late > a.Component.Acts.Hangs && !a.Component.Acts.External {
		c.fail(rec, "%s was silent for too long %d times, and hangs %d times", e.Runnable, a.late, a.Component.Acts.Hangs)
	}
	c.outOfTime(rec, r, e)
}
