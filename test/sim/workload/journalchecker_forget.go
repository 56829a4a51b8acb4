package workload

import "github.com/heddle-run/heddle/shared/events"

// forgetting follows which inputs of a run are forgotten, as its records tell it.
type forgetting struct {
	keep    int // facts; 0: all
	newest  events.FactID
	settled []settledInput // not forgotten, in the order in which they settled
}

type settledInput struct {
	input  events.ScopeID
	newest events.FactID // as it settled
}

// old reports whether the first input is to be forgotten.
func (f *forgetting) old() bool {
	return f.keep > 0 && len(f.settled) > 0 && f.settled[0].newest+events.FactID(f.keep) <= f.newest
}

// forget holds that inputs are forgotten in the order in which they settled, each once
// nothing of it is among the newest facts.
func (c *journalChecker) forget(rec *events.Record, r *run, e events.Event) {
	f := &r.forgetting
	if made := factOf(e); made != 0 {
		if made != f.newest+1 {
			c.fail(rec, "fact %s follows %s", made, f.newest)
		}
		f.newest = made
	}
	switch e := e.(type) {
	case *events.InputSettled:
		f.settled = append(f.settled, settledInput{e.Scope, f.newest})
	case *events.FactsDropped:
		if !f.old() || f.settled[0].input != e.Scope || e.Facts > uint64(f.settled[0].newest) {
			c.fail(rec, "input %s is forgotten up to fact %d, and %d facts are kept: the newest is %s, settled are %v", e.Scope, e.Facts, f.keep, f.newest, f.settled)
			return
		}
		if e.Forgotten {
			f.settled = f.settled[1:]
		}
	}
}

// factOf is the fact that an event makes; 0: none.
func factOf(e events.Event) events.FactID {
	switch e := e.(type) {
	case *events.InputAccepted:
		return e.Fact
	case *events.FactProduced:
		return e.Fact
	case *events.StateChanged:
		return e.Fact
	case *events.RunnableCompleted:
		return e.Fact
	case *events.FailureCaught:
		return e.Fact
	case *events.ScopeOpened:
		return e.Fact
	case *events.TimerFired:
		return e.Fact
	case *events.SignalTaken:
		return e.Fact
	}
	return 0
}
