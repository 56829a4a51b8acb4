package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// wait is what a runnable waits for that is not only a time: a signal, or the silence of
// another component. It is replaced as a whole: versions of a row share it.
type wait struct {
	Key      string // of the signal
	Until    int64  // Unix ms of the signal's timeout; 0: it has none
	Reminded uint64 // how often there was a reminder of the signal
	Silence  int64  // ms of silence; 0: it waits for a signal
}

// Fields implements wire.Message.
func (wt *wait) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &wt.Key)
	wire.Int(c, 2, "until", &wt.Until)
	wire.Int(c, 3, "reminded", &wt.Reminded)
	wire.Int(c, 4, "silence", &wt.Silence)
}

// watch is the runnable that waits, in a scope, for the silence that a component is of.
type watch struct{ Runnable events.RunnableID }

// Fields implements wire.Message.
func (s *watch) Fields(c *wire.Codec) { wire.Int(c, 1, "runnable", &s.Runnable) }

func watchKey(wf string, s events.ScopeID, component uint32) rows.Key {
	return rows.Key{Table: rows.Watch, Workflow: wf, A: uint64(s), B: uint64(component)}
}

// wakeKey is the timer of a waiting runnable. One that waits for more than the time must
// not overtake that: who asks a rate again whose grant is in the inbox already spends another permit.
func wakeKey(wf string, id events.RunnableID, r *runnable) rows.Key {
	if r.Wait != nil || r.Permit != nil {
		return timerKey(wf, r.Due, id, machine.TimerGiveUp)
	}
	return timerKey(wf, r.Due, id, machine.TimerWake)
}

// await makes a runnable wait for what is in the row, and until due, if that is not 0.
func (rs *runnables) await(id events.RunnableID, what *wait, due int64) {
	r := rs.change(id)
	rs.leave(id, r)
	r.Status, r.Wait = runWaiting, what
	rs.h().Waiting++
	if k := rs.awaitedKey(id, r); k.Table == rows.Match {
		rs.tx.Create(k, &present{Since: rs.now})
	} else {
		rs.tx.Create(k, &watch{Runnable: id})
	}
	rs.arm(id, r, due)
}

// awaitedKey is where a runnable is found by what it waits for.
func (rs *runnables) awaitedKey(id events.RunnableID, r *runnable) rows.Key {
	if c := rs.component(r.Component); c.Signal != nil {
		return matchKey(rs.id, waits, uint32(c.Signal.Number), r.Wait.Key, uint64(id))
	}
	return watchKey(rs.id, r.Scope, r.Component)
}

// arm sets the timer of a waiting runnable; due is 0: it has none.
func (rs *runnables) arm(id events.RunnableID, r *runnable, due int64) {
	if r.Due = due; due != 0 {
		rs.tx.Put(wakeKey(rs.id, id, r), &machine.Timer{})
	}
}

// disarmWake takes the timer of a waiting runnable away, if it has one.
func (rs *runnables) disarmWake(id events.RunnableID, r *runnable) {
	if r.Due != 0 {
		rs.tx.Delete(wakeKey(rs.id, id, r))
		r.Due = 0
	}
}

// moved sets the timer of a waiting runnable anew.
func (rs *runnables) moved(e *events.TimerMoved) {
	r := rs.change(e.Runnable)
	rs.disarmWake(e.Runnable, r)
	what := *r.Wait
	what.Reminded = e.Reminded
	r.Wait = &what
	rs.arm(e.Runnable, r, e.Due)
}

// ceaseToWait ends the wait of a runnable: it leaves no trace. What finds it by what it waits
// for goes with all rows of the run where the definition has gone.
func (rs *runnables) ceaseToWait(id events.RunnableID, r *runnable) {
	rs.disarmWake(id, r)
	if r.Wait != nil {
		if !rs.unpinned() {
			rs.tx.Delete(rs.awaitedKey(id, r))
		}
		r.Wait = nil
	}
}
