package workload

import "github.com/heddle-run/heddle/shared/events"

// elementsOf is how far a map has come, as its records tell it.
type elementsOf struct{ count, opened, closed uint64 }

// foldAt is a reduce at one place.
type foldAt struct {
	component uint32
	place     uint64
}

// maps holds that each element of a list is opened once, in order, and each reduce folds
// them in order.
func (c *journalChecker) maps(rec *events.Record, r *run, e events.Event) {
	switch e := e.(type) {
	case *events.ListTaken:
		r.list(e.Runnable).count += uint64(len(e.Elements))
	case *events.ScopeOpened: // what the input brought holds in it
		r.given[e.Fact] = r.given[r.runnables[e.Runnable].scope]
		l := r.list(e.Runnable)
		if e.Index != l.opened || e.Index >= l.count {
			c.fail(rec, "element %d of %s is opened, of %d, behind %d", e.Index, e.Runnable, l.count, l.opened)
		}
		l.opened++
		r.owners[e.Fact] = e.Runnable
	case *events.ScopeClosed:
		owner, ok := r.owners[e.Scope]
		if !ok {
			c.fail(rec, "the scope %s is closed, and not open", e.Scope)
			return
		}
		delete(r.owners, e.Scope)
		r.list(owner).closed++
	case *events.Folded:
		at := foldAt{e.Component, e.Place}
		if e.Next == 0 { // its map is over
			return
		}
		if e.Next <= r.folds[at] {
			c.fail(rec, "%s at %d folds up to %d, behind %d", r.wf.Graph.Components[e.Component].Name, e.Place, e.Next, r.folds[at])
		}
		r.folds[at] = e.Next
	}
}

func (r *run) list(id events.RunnableID) *elementsOf {
	if r.lists[id] == nil {
		r.lists[id] = &elementsOf{}
	}
	return r.lists[id]
}

// mapped holds that a map ends once, without an attempt, behind all of its elements.
func (c *journalChecker) mapped(rec *events.Record, r *run, a *attempts, e *events.RunnableCompleted) {
	if a.ended != "" || a.last > 0 || e.Executor != "" {
		c.fail(rec, "the map %s ends with %d attempts, of %q, after it had ended %q", e.Runnable, a.last, e.Executor, a.ended)
	}
	if l := r.list(e.Runnable); l.opened != l.count || l.closed != l.count {
		c.fail(rec, "the map %s ends with %d of %d elements closed, and %d opened", e.Runnable, l.closed, l.count, l.opened)
	}
	a.ended = "completed"
}
