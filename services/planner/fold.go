package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// fold is how far a reduce has come at one place: the scope of its map, or the fact with
// its list. What comes of an element before its turn is kept in a row of the reduce's arm
// with the element's index.
type fold struct {
	Owner  events.RunnableID // which goes through the list
	Total  uint64            // elements
	Next   uint64            // index of the next to fold
	Value  json.RawMessage   // what came of those before
	Fact   events.FactID     // whose value that is, if a task gave it
	Busy   events.RunnableID // which folds the next; 0: none
	Done   bool              // it has its value, or will have none; what comes changes nothing
	Failed uint64            // elements that were left out because they failed
	Last   events.FactID     // the newest that was folded, or what fed the owner
	Kept   uint64            // results that came before they are folded
	Bytes  uint64            // of a value that has a row of its own; 0: it has none
}

// Fields implements wire.Message.
func (f *fold) Fields(c *wire.Codec) {
	wire.Int(c, 1, "owner", &f.Owner)
	wire.Int(c, 2, "total", &f.Total)
	wire.Int(c, 3, "next", &f.Next)
	c.JSON(4, "value", &f.Value)
	wire.Int(c, 5, "fact", &f.Fact)
	wire.Int(c, 6, "busy", &f.Busy)
	c.Bool(7, "done", &f.Done)
	wire.Int(c, 8, "failed", &f.Failed)
	wire.Int(c, 9, "last", &f.Last)
	wire.Int(c, 10, "kept", &f.Kept)
	wire.Int(c, 11, "bytes", &f.Bytes)
}

// maxErrors is how many errors of elements a reduce lists.
const maxErrors = 1000

func foldKey(wf string, place uint64, component uint32) rows.Key {
	return rows.Key{Table: rows.Fold, Workflow: wf, A: place, B: uint64(component)}
}

func keptKey(wf string, place uint64, component uint32, index uint64) rows.Key {
	return rows.Key{Table: rows.Arm, Workflow: wf, A: place, B: uint64(component), C: index}
}

// placeOf is where a runnable of a reduce folds.
func placeOf(c *definition.Component, s events.ScopeID, parents []events.FactID) uint64 {
	if c.Fold.Over >= 0 {
		return uint64(s)
	}
	return uint64(parents[0])
}

func (fs *folds) get(place uint64, component uint32) *fold {
	return rows.Get[fold](fs.tx, foldKey(fs.id, place, component))
}

func (fs *folds) change(place uint64, component uint32) *fold {
	return rows.Change[fold](fs.tx, foldKey(fs.id, place, component))
}

func (fs *folds) kept(place uint64, component uint32, index uint64) *arm {
	return rows.Get[arm](fs.tx, keptKey(fs.id, place, component, index))
}

// begin begins the folds of the list that a runnable goes through.
func (fs *folds) begin(id events.RunnableID, r *runnable) {
	c := fs.component(r.Component)
	over := []int{c.Index}
	if c.Each != nil {
		over = c.Each.Folds
	}
	for _, n := range over {
		reduce := fs.component(uint32(n))
		f := &fold{Owner: id, Total: r.Fanned.Count, Value: reduce.Fold.Init}
		for _, p := range r.Parents {
			if f.Last == 0 {
				f.Last = p
			}
		}
		place := placeOf(reduce, r.Scope, r.Parents)
		if fs.get(place, uint32(n)) != nil {
			fs.remove(place, uint32(n)) // of a list that was there before
		}
		fs.tx.Put(foldKey(fs.id, place, uint32(n)), f)
	}
}

// busy notes which runnable folds the next element, and gives it what it works on.
func (fs *folds) busy(id events.RunnableID, r *runnable) {
	c := fs.component(r.Component)
	place := placeOf(c, r.Scope, r.Parents)
	if fs.get(place, r.Component) == nil {
		return // it is to go through a list itself
	}
	f := fs.change(place, r.Component)
	f.Busy = id
	r.Input = foldInput(fs.acc(place, r.Component), fs.item(c, f, r.Parents), f.Next)
}

// item is the element that a runnable folds.
func (fs *folds) item(c *definition.Component, f *fold, parents []events.FactID) json.RawMessage {
	if c.Fold.Over >= 0 {
		return fs.facts.get(parents[0]).Value
	}
	return fs.runs.element(f.Owner, fs.runs.get(f.Owner).Fanned, f.Next)
}

// keep keeps what came of an element.
func (fs *folds) keep(e *events.ResultKept) {
	fs.change(e.Place, e.Component).Kept++
	fs.tx.Put(keptKey(fs.id, e.Place, e.Component, e.Index), &arm{Fact: e.Fact, Dead: cause(e.Dead), Error: e.Error})
}

// folded moves a fold on. Behind its end, it goes away.
func (fs *folds) folded(e *events.Folded) {
	c := fs.component(e.Component)
	f := fs.change(e.Place, e.Component)
	if f.Done {
		fs.remove(e.Place, e.Component)
		return
	}
	for failed := f.Failed; f.Next < e.Next; f.Next++ {
		if c.Fold.Over >= 0 && fs.drop(c, f, e.Place, failed) {
			failed++
		}
	}
	if c.Fold.Over < 0 {
		r := fs.runs.change(f.Owner)
		ahead := *r.Fanned
		fs.runs.advance(f.Owner, &ahead, e.Next)
		r.Fanned = &ahead
	}
	if len(e.Value) > 0 || e.Fact != 0 {
		fs.hold(f, e)
		f.Busy = 0
	}
	f.Failed += e.Failed
	if e.Last != 0 {
		f.Last = e.Last
	}
}

// drop drops what was kept of the element that is folded, but for the errors that are listed:
// so many elements have failed before it. It reports whether it is one of these.
func (fs *folds) drop(c *definition.Component, f *fold, place, failed uint64) bool {
	k := fs.kept(place, uint32(c.Index), f.Next)
	if k == nil {
		return false
	}
	f.Kept--
	if k.Dead != suppressed || !c.Fold.Errors || failed >= maxErrors {
		fs.tx.Delete(keptKey(fs.id, place, uint32(c.Index), f.Next))
	}
	return k.Dead == suppressed
}

// over ends the fold at a place. While its owner lives, more may come, and a row says
// that it does not matter.
func (fs *folds) over(place uint64, component uint32) {
	if fs.component(component).Fold == nil {
		return
	}
	f := fs.get(place, component)
	if f == nil || f.Done {
		return
	}
	fs.eachKept(place, component, func(index uint64, _ *arm) { fs.tx.Delete(keptKey(fs.id, place, component, index)) })
	fs.remove(place, component)
	if fs.runs.get(f.Owner) != nil && fs.component(component).Fold.Over >= 0 {
		fs.tx.Put(foldKey(fs.id, place, component), &fold{Owner: f.Owner, Done: true})
	}
}

// eachKept visits what is kept for a fold, in the order of the elements.
func (fs *folds) eachKept(place uint64, component uint32, visit func(index uint64, a *arm)) {
	var all []uint64
	rows.Scan(fs.tx, keptKey(fs.id, place, component, 0), func(k rows.Key, _ *arm) bool {
		if k.A != place || k.B != uint64(component) {
			return false
		}
		all = append(all, k.C)
		return true
	})
	for _, index := range all {
		visit(index, fs.kept(place, component, index))
	}
}

// leave ends what a runnable is to folds: it has completed, or was given up.
func (fs *folds) leave(id events.RunnableID, r *runnable, completed bool) {
	c := fs.component(r.Component)
	switch {
	case c.Each != nil && r.Fanned != nil:
		fs.runs.dropList(id, r)
		for _, n := range c.Each.Folds {
			if f := fs.get(uint64(r.Scope), uint32(n)); f != nil && f.Done && completed {
				fs.remove(uint64(r.Scope), uint32(n))
			}
		}
	case c.Fold != nil && r.Fanned != nil:
		fs.runs.dropList(id, r)
		fs.over(placeOf(c, r.Scope, r.Parents), r.Component)
	case c.Fold != nil && !completed:
		if place := placeOf(c, r.Scope, r.Parents); fs.get(place, r.Component) != nil && fs.get(place, r.Component).Busy == id {
			fs.over(place, r.Component)
		}
	}
}

// foldInput is what a task that folds gets, as JSON.
func foldInput(acc, item json.RawMessage, index uint64) json.RawMessage {
	b := append(make([]byte, 0, len(acc)+len(item)+40), `{"acc":`...)
	b = append(append(b, acc...), `,"index":`...)
	b = append(append(b, mustJSON(index)...), `,"item":`...)
	return append(append(b, item...), '}')
}
