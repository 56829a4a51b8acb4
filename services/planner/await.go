package planner

import (
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// awaitSilence makes the runnable wait until the component that it is of has been silent.
func (i invocation) awaitSilence(d time.Duration) {
	if i.id == 0 {
		i.id = i.ready(nil)
	}
	i.t.emit(&events.SilenceAwaited{Runnable: i.id, For: d.Milliseconds(), Due: i.t.now + d.Milliseconds()})
}

// breakSilences begins the time of those anew who wait, in this scope, for a silence of a
// component that yields.
func (fl *flow) breakSilences(c *definition.Component, s events.ScopeID) {
	for _, waits := range c.Silences {
		w := rows.Get[watch](fl.tx, watchKey(fl.id, s, uint32(waits)))
		if w == nil {
			continue
		}
		r := fl.runs.get(w.Runnable)
		if due := fl.now + r.Wait.Silence; due != r.Due {
			fl.emit(&events.TimerMoved{Runnable: w.Runnable, Due: due})
		}
	}
}

// awaitSignal lets the runnable take the oldest signal that fits, or makes it wait for
// one; without a timeout, for ever.
func (i invocation) awaitSignal(key string, timeout time.Duration) {
	if i.id == 0 {
		i.id = i.ready(i.policy().Append(nil))
	}
	if n := i.t.signals.oldest(kept, uint32(i.c.Signal.Number), key); n != 0 {
		i.t.takeSignal(i.id, n)
		return
	}
	e := &events.SignalAwaited{Runnable: i.id, Key: key}
	if i.c.Signal.Timeout != nil {
		e.Until = i.t.now + timeout.Milliseconds()
	}
	e.Due = i.nextWake(e.Until, 0)
	i.t.emit(e)
}

// nextWake is when a runnable that waits for a signal has something to do that has been
// reminded so often: remind again, or give up; 0: never.
func (i invocation) nextWake(until int64, reminded uint64) int64 {
	m := i.c.Signal.Remind
	if m == nil || reminded >= uint64(m.Max) {
		return until
	}
	if next := i.t.now + m.Every.Milliseconds(); until == 0 || next < until {
		return next
	}
	return until
}

// overdue reports whether the time of the runnable's signal is over.
func (i invocation) overdue() bool {
	until := i.t.runs.get(i.id).Wait.Until
	return until != 0 && until <= i.t.now
}

// remind runs the part that reminds of the signal, with what arrived here.
func (i invocation) remind() {
	what := i.t.runs.get(i.id).Wait
	n := what.Reminded + 1
	i.t.emit(&events.TimerMoved{Runnable: i.id, Due: i.nextWake(what.Until, n), Reminded: n})
	i.t.flow.activate(i.t.component(uint32(i.c.Signal.Remind.Do)), i.scope, i.parents)
}

// giveUp fails a runnable that has waited in vain.
func (i invocation) giveUp(message string) {
	i.t.ends.failFor(i.id, events.TaskError{Type: events.ErrorTimeout, Message: message, NonRetryable: true}, "", failedAttempt)
}
