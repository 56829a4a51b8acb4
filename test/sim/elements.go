package sim

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// losing is a machine with a flaw: of a list that is replayed the last element is lost, and the
// one before it stands in its place.
type losing struct{ machine.Machine }

// Apply implements machine.Machine.
func (l losing) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	lost := *rec
	lost.Events = slices.Clone(rec.Events)
	for i, e := range lost.Events {
		list, is := e.(*events.ListTaken)
		if !is || len(list.Elements) < 2 {
			continue
		}
		rest := list.Elements[:len(list.Elements)-1]
		lost.Events[i] = &events.ListTaken{Runnable: list.Runnable, Elements: append(slices.Clone(rest), rest[len(rest)-1])}
	}
	return l.Machine.Apply(tx, &lost, guarded)
}

// repeating is a machine with a flaw: a map forgets, once, that it has opened an element in
// the place of one that was over.
type repeating struct {
	machine.Machine
	known  map[rows.Key]rows.Row // as they were written last; nil: it has forgotten
	owners map[events.ScopeID]events.RunnableID
}

// Decide implements machine.Machine.
func (r *repeating) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := r.Machine.Decide(tx, at, now, in)
	opened, closed := map[uint64]int{}, map[uint64]int{}
	for _, e := range out.Events {
		switch e := e.(type) {
		case *events.ScopeOpened:
			opened[uint64(e.Runnable)]++
			r.owners[e.Fact] = e.Runnable
		case *events.ScopeClosed:
			closed[uint64(r.owners[e.Scope])]++
		}
	}
	for _, w := range append([]rows.Write(nil), tx.Writes()...) {
		if w.Key.Table != rows.Runnable && w.Key.Table != rows.Elements {
			continue
		}
		old, written := r.known[w.Key]
		switch n := opened[w.Key.A]; {
		case old != nil && n > 0 && n == closed[w.Key.A]:
			tx.Put(w.Key, old)
			r.known[w.Key] = nil
		case old != nil || !written:
			r.known[w.Key] = w.Row
		}
	}
	return out
}

// disordering is a machine with a flaw: of what waits for its turn in a reduce, two change places.
type disordering struct {
	machine.Machine
	waits map[rows.Key]rows.Write // by reduce: one that does
}

// Decide implements machine.Machine.
func (d *disordering) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := d.Machine.Decide(tx, at, now, in)
	kept := map[rows.Key]bool{}
	for _, e := range out.Events {
		if k, is := e.(*events.ResultKept); is && k.Fact != 0 {
			kept[rows.Key{Table: rows.Arm, Workflow: in.Workflow, A: k.Place, B: uint64(k.Component), C: k.Index}] = true
		}
	}
	for _, w := range append([]rows.Write(nil), tx.Writes()...) {
		reduce := w.Key
		reduce.C = 0
		other, waits := d.waits[reduce]
		switch {
		case waits && other.Key == w.Key:
			delete(d.waits, reduce)
		case !kept[w.Key] || w.Row == nil:
		case waits:
			tx.Put(w.Key, other.Row)
			tx.Put(other.Key, w.Row)
			delete(d.waits, reduce)
		default:
			d.waits[reduce] = w
		}
	}
	return out
}
