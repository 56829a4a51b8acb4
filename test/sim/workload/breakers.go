package workload

import (
	"fmt"
	"maps"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// protect gives the steps of a workflow breakers that others have too. What opens one and for how long, its
// name says. A step that would fail when it is denied waits, unless it is to fail anyway or is
// tried again for as long as it takes.
func (d Dice) protect(w *Workflow) {
	for _, c := range w.Graph.Components {
		if c.kind != step || c.needs == nil || c.reacts != nil || c.Acts.External || c.needs["start_timeout_ms"] != nil || !d.One(2) {
			continue
		}
		threshold, reset := d.Between(1, 3), Pick(d, 200, 1000, 4000)
		if c.inner {
			reset = 200 // each of many elements may be a probe that fails
		}
		breaker := map[string]any{"name": fmt.Sprintf("fragile-%d-%d", threshold, reset), "failure_threshold": threshold, "reset_timeout_ms": reset}
		switch falls := c.Acts.Falls; {
		case !d.One(2):
		case c.Acts.Hopeless, falls == policy.FallbackValue, falls == policy.FallbackExpr, falls == policy.FallbackTask:
			breaker["on_open"] = "fail"
		case falls == 0 && c.breaks == 0 && !c.Acts.Halts && c.needs["retry_if"] == nil:
			breaker["on_open"] = "fail"
			c.needs["max_retries"], c.needs["backoff"], c.needs["base_delay_ms"] = 10_000, "linear", d.Between(leastDelay, 1500)
			c.denies = true
		}
		c.needs["circuit_breaker"] = breaker
		c.own = own(false, c.needs)
	}
}

// leastDelay (ms) is between two attempts of a step that are denied. Tried again at once it would have spent all of its
// attempts before the breaker lets one try.
const leastDelay = 200

// delay gives the rules that may fit such a step that delay.
func (w *Workflow) delay() {
	for _, c := range w.Graph.Components {
		if !c.denies {
			continue
		}
		for _, list := range append(w.lists(), w.Graph.rules, c.own) {
			for i := range list {
				if r := &list[i]; r.fits(c) != no {
					r.fields = r.fields.delayed()
				}
			}
		}
	}
}

// delayed are the fields with no shorter delay than the least.
func (f fields) delayed() fields {
	f = maps.Clone(f)
	if f["backoff"] == "none" {
		f["backoff"] = "linear"
	}
	for _, name := range []string{"base_delay_ms", "max_delay_ms"} {
		if ms, is := f[name].(int); is {
			f[name] = max(ms, leastDelay)
		}
	}
	return f
}

// denied follows an attempt that its breaker does not let begin: its failure closes it.
func (c *journalChecker) denied(rec *events.Record, r *run, e *events.AttemptDenied) {
	a := r.runnables[e.Runnable]
	if b := a.policy.Breaker; b.OnOpen != policy.FailOpen || e.Key != events.KeyOf(events.BreakerKey, b.Name) {
		c.fail(rec, "attempt %d of %s is denied by %s, and its policy says %+v", e.Attempt, e.Runnable, e.Key, b)
	}
	if a.open || a.ended != "" || e.Attempt != a.last+1 {
		c.fail(rec, "attempt %d of %s, which is denied, follows %d: open %v, ended %q", e.Attempt, e.Runnable, a.last, a.open, a.ended)
	}
	if want := a.queue(); e.Queue != want {
		c.fail(rec, "attempt %d of %s, which is denied, is of the queue %q, want %q", e.Attempt, e.Runnable, e.Queue, want)
	}
	a.last, a.open, a.denied = e.Attempt, true, true // what follows closes it
	r.active++
}

// ranFirst reports whether a failure is one of an attempt that has run.
func (c *journalChecker) ranFirst(rec *events.Record, id events.RunnableID, a *attempts, err events.TaskError) bool {
	denied := a.denied
	if a.denied = false; denied != (err.Type == events.ErrorCircuitOpen) {
		c.fail(rec, "%s fails with %s, and its attempt was denied: %v", id, err.Type, denied)
	}
	switch err.Type {
	case events.ErrorUnknownTask, events.ErrorStartTimeout, events.ErrorDeadline:
		return false
	}
	return !denied && !a.settles && !a.undone
}

// fuse is a breaker as its records tell it.
type fuse struct {
	state    events.BreakerState
	turn     int
	failures uint64 // in a row, that count
	limit    events.KeyLimit
	until    int64
	used     int64
	probe    events.PermitID         // that is out; zero: none is
	holders  map[events.PermitID]int // the turn in which each was granted
}

// unused is for how long (ms) a breaker remembers what is not used.
const unused = 24 * 60 * 60 * 1000

// lets reports whether it may grant a permit.
func (f *fuse) lets() bool {
	return f.state == events.BreakerClosed || f.state == events.BreakerHalfOpen && f.probe == (events.PermitID{})
}

// breaker follows a record of a breaker: it grants nothing while it is open, and one permit at a time while it is half open; its
// state changes as its attempts say, each once, and by its time, and no other way.
func (p *Permits) breaker(rec *events.Record, f *fuse, doubtful bool) (errs []error) {
	fail := func(format string, args ...any) {
		errs = append(errs, complain(rec.Workflow, "record %s of %s: %w", rec.Position, rec.Workflow, fmt.Errorf(format, args...)))
	}
	tried := events.NoVerdict // what the probe has come to in this record
	counted := false
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.PermitQueued:
			f.limit, f.used = e.Limit, rec.Time
		case *events.PermitDenied:
			f.limit, f.used = e.Limit, rec.Time
			p.denied[e.Permit] = true
			if f.lets() || !e.Limit.Fails {
				fail("it denies %s while it is %s", e.Permit, f.state)
			}
			if p.asked[e.Permit] != rec.Workflow && !doubtful {
				fail("it denies %s, which has not asked it", e.Permit)
			}
		case *events.PermitIssued:
			if !f.lets() {
				fail("it grants %s while it is %s, with the probe %s", e.Permit, f.state, f.probe)
			}
			if f.holders[e.Permit] = f.turn; f.state == events.BreakerHalfOpen {
				f.probe = e.Permit
			}
		case *events.PermitOver:
			f.used = rec.Time
			if f.probe == e.Permit {
				f.probe, tried = events.PermitID{}, e.Verdict
			}
			turn, held := f.holders[e.Permit]
			delete(f.holders, e.Permit)
			if e.Verdict != events.NoVerdict && !p.verdicts[e.Permit][e.Verdict] && !doubtful {
				fail("the verdict of %s is %d, which its workflow has not said", e.Permit, e.Verdict)
			}
			if e.Verdict != events.NoVerdict && !held {
				fail("a verdict of %s counts, which holds nothing", e.Permit)
			}
			switch {
			case !held || turn != f.turn || f.state == events.BreakerOpen:
			case e.Verdict == events.VerdictFailed:
				f.failures++
				counted = true
			case e.Verdict == events.VerdictSucceeded:
				f.failures = 0
			}
		case *events.BreakerTurned:
			switch {
			case e.To == events.BreakerOpen && f.state == events.BreakerClosed && f.failures >= f.limit.Limit && counted:
			case e.To == events.BreakerOpen && f.state == events.BreakerHalfOpen && tried == events.VerdictFailed:
			case e.To == events.BreakerHalfOpen && f.state == events.BreakerOpen && rec.Time >= f.until:
			case e.To == events.BreakerClosed && f.state == events.BreakerHalfOpen && tried == events.VerdictSucceeded:
			default:
				fail("it is %s, with %d failures in a row of %d, until %d, its probe says %d, and it turns to %s at %d",
					f.state, f.failures, f.limit.Limit, f.until, tried, e.To, rec.Time)
			}
			if e.To == events.BreakerOpen && e.Until != rec.Time+int64(f.limit.Per) {
				fail("it is open until %d, want %d ms from %d", e.Until, f.limit.Per, rec.Time)
			}
			f.state, f.until, f.probe, f.used = e.To, e.Until, events.PermitID{}, rec.Time
			if f.turn++; f.state == events.BreakerClosed {
				f.failures = 0
			}
		case *events.KeySwept:
			if e.Gone && (f.state == events.BreakerOpen || len(f.holders) > 0 || f.failures > 0 && rec.Time < f.used+unused) {
				fail("it is forgotten while it is %s with %d failures, and %d attempts hold permits", f.state, f.failures, len(f.holders))
			}
			if e.Gone {
				*f = fuse{holders: map[events.PermitID]int{}}
			}
		}
	}
	if f.state == events.BreakerClosed && counted && f.failures >= f.limit.Limit {
		fail("%d have failed in a row of %d, and it does not open", f.failures, f.limit.Limit)
	}
	if f.state == events.BreakerHalfOpen && tried != events.NoVerdict {
		fail("its probe has come to %d, and it stays half open", tried)
	}
	return errs
}

// judged follows what a record of a workflow says of the attempts whose breakers' permits it gives back.
func (p *Permits) judged(rec *events.Record, back *events.PermitsReturned) (errs []error) {
	ends := map[events.RunnableID]events.Verdict{} // the first one: what a fallback comes to follows
	lost := map[events.RunnableID]bool{}           // that is no verdict
	end := func(id events.RunnableID, v events.Verdict) {
		if ends[id] == events.NoVerdict && !lost[id] {
			ends[id] = v
		}
	}
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.RunnableCompleted:
			end(e.Runnable, events.VerdictSucceeded)
		case *events.RunnableFailed:
			end(e.Runnable, events.VerdictFailed)
		case *events.RunnableTimedOut:
			end(e.Runnable, events.VerdictFailed)
		case *events.RunnableLost:
			lost[e.Runnable] = true
		}
	}
	for _, one := range back.Permits {
		id := events.PermitID{Workflow: rec.Workflow, Runnable: one.Runnable, Asked: one.Asked}
		if p.verdicts[id] == nil {
			p.verdicts[id] = map[events.Verdict]bool{}
		}
		p.verdicts[id][one.Verdict] = true
		if end := ends[one.Runnable]; one.Verdict != events.NoVerdict && one.Verdict != end {
			errs = append(errs, complain(rec.Workflow, "record %s says %d of the attempt of %s, which has come to %d", rec.Position, one.Verdict, id, end))
		}
		if ends[one.Runnable] == events.VerdictSucceeded && p.used[id] && one.Verdict != events.VerdictSucceeded && isBreaker(one.Key) {
			errs = append(errs, complain(rec.Workflow, "record %s does not tell %s that the attempt of %s has succeeded", rec.Position, one.Key, id))
		}
	}
	return errs
}
