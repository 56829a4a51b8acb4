package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// through is where the runnable is in the list that it goes through.
func (i invocation) through() fanned { return *i.t.runs.get(i.id).Fanned }

// element is the next element of the list.
func (i invocation) element() json.RawMessage {
	f := i.t.runs.get(i.id).Fanned
	return i.t.runs.element(i.id, f, f.Next)
}

// parallel is how many scopes the runnable may have open.
func (i invocation) parallel() uint64 {
	if n := i.c.Each.Parallel; n > 0 {
		return uint64(n)
	}
	return uint64(i.t.queue.limit())
}

// ahead is how many elements, for each that may be open, a map may be ahead of a fold: so
// many results are kept at most.
const ahead = 4

// foldsKeepUp reports whether no fold of what comes of the elements is far behind one.
func (i invocation) foldsKeepUp(next uint64) bool {
	for _, n := range i.c.Each.Folds {
		f := i.t.folds.get(uint64(i.scope), uint32(n))
		if f != nil && !f.Done && next >= f.Next+f.waits()+ahead*i.parallel() {
			return false
		}
	}
	return true
}

// endMap completes the runnable of a map with a fact that goes outside.
func (i invocation) endMap(value json.RawMessage) {
	f := i.t.nextFact()
	i.t.emit(&events.RunnableCompleted{Runnable: i.id, Fact: f, Value: value, Started: i.t.now, Finished: i.t.now})
	i.t.flow.yield(i.c, i.scope, f)
}

// tolerates finds the nearest scope around something that has failed whose map lets its
// element fail; 0: none does.
func (t *turn) tolerates(s events.ScopeID) events.ScopeID {
	for {
		sc := t.scopes.row(s)
		if sc == nil || sc.Outer == 0 {
			return 0
		}
		r := t.runs.get(sc.Owner)
		if c := t.component(r.Component); c.Each != nil && r.Fanned != nil {
			most := uint64(c.Each.Tolerate.Of(int(r.Fanned.Count)))
			if r.Fanned.Failed < most || sc.Failed != nil && r.Fanned.Failed <= most {
				return s
			}
		}
		s = sc.Outer
	}
}

// markFailed notes that the element of a scope has failed, and those around it up to another scope.
func (t *turn) markFailed(s, through events.ScopeID, err events.TaskError) {
	short := events.TaskError{Type: err.Type, Message: events.Cut(err.Message, events.MaxSummaryText), NonRetryable: err.NonRetryable}
	for {
		sc := t.scopes.row(s)
		if sc == nil || sc.Outer == 0 {
			return
		}
		if sc.Failed == nil {
			t.emit(&events.ElementFailed{Scope: s, Error: short})
		}
		if through == 0 || s == through {
			return
		}
		s = sc.Outer
	}
}

// elementFailed counts an element as failed.
func (ss *scopes) elementFailed(e *events.ElementFailed) {
	sc := rows.Change[scope](ss.tx, scopeKey(ss.id, e.Scope))
	err := e.Error
	sc.Failed = &err
	r := ss.runs.change(sc.Owner)
	f := *r.Fanned
	f.Failed++
	r.Fanned = &f
}
