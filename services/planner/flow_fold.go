package planner

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

// came is what came of one element.
type came struct {
	fact events.FactID
	dead cause
	err  *events.TaskError
}

// toFold takes what has come of an element to a reduce, or the end of its map.
func (fl *flow) toFold(c *definition.Component, a arrival) {
	if a.arm > 0 {
		fl.mapEnded(c, a)
		return
	}
	at := fl.facts.get(a.scope).Opened
	f := fl.folds.get(uint64(at.Outer), a.component)
	if f == nil || f.Done {
		return
	}
	got := &came{fact: a.fact, dead: a.dead}
	if a.dead == suppressed {
		if sc := fl.scopes.row(a.scope); sc != nil {
			got.err = sc.Failed
		}
	}
	inOrder := at.Index == f.Next && f.Busy == 0
	enough := f.Kept >= f.waits() || a.dead == suppressed || f.Next+f.Kept+1 == f.Total
	if !inOrder || !enough || a.dead == suppressed && c.Fold.Errors {
		fl.emit(&events.ResultKept{Component: a.component, Place: uint64(at.Outer), Index: at.Index, Fact: a.fact, Dead: uint8(a.dead), Error: got.err})
		got = nil
	}
	if !inOrder && f.Bytes > 0 { // those before it may have waited for it
		inOrder = fl.folds.kept(uint64(at.Outer), a.component, f.Next) != nil
	}
	if inOrder && enough && fl.fold(c, at.Outer, got) {
		fl.pieces.add(events.Work{Kind: events.WorkFold, Component: a.component + 1, Scope: at.Outer})
	}
}

// mapEnded takes the end of a map: with no elements, nothing has told of it before. A map
// that is dead takes its folds along.
func (fl *flow) mapEnded(c *definition.Component, a arrival) {
	f := fl.folds.get(uint64(a.scope), a.component)
	switch {
	case a.dead == 0:
		if f != nil && f.Next == f.Total {
			fl.finish(c, a.scope)
		}
		return
	case f == nil:
		fl.die(c, a.scope, a.dead)
	case !f.Done:
		fl.abandon(f.Busy)
		fl.die(c, a.scope, a.dead)
		fl.revive()
	}
	if f != nil {
		fl.emit(&events.Folded{Component: a.component, Place: uint64(a.scope)})
	}
}

// foldMore carries a fold on that has results to fold.
func (fl *flow) foldMore(w events.Work) {
	c := fl.component(w.Component - 1)
	for fl.fold(c, w.Scope, nil) {
		if fl.spend.full() {
			return
		}
	}
	fl.pieces.pop()
}

// fold folds what has come of the next elements of a map, beginning with one that comes right
// now, if it is given. It reports whether there is more to fold.
func (fl *flow) fold(c *definition.Component, s events.ScopeID, now *came) bool {
	f := fl.folds.get(uint64(s), uint32(c.Index))
	if f == nil || f.Done || f.Busy != 0 {
		return false
	}
	fo := folding{flow: fl, c: c, f: f, place: uint64(s), next: f.Next}
	fo.i = invocation{fl.turn, c, 0, activation{scope: s}}
	fo.get = func(index uint64) *came {
		if now != nil && index == f.Next {
			return now
		}
		if a := fl.folds.kept(uint64(s), uint32(c.Index), index); a != nil {
			return &came{a.Fact, a.Dead, a.Error}
		}
		return nil
	}
	fo.item = func(_ uint64, g *came) (any, error) { return fl.account().Decode(fl.facts.get(g.fact).Value) }
	bytes := fl.folds.size(f)
	if g := fo.get(f.Next); g != nil && g.fact != 0 {
		bytes += len(fl.facts.get(g.fact).Value)
	}
	if over := fl.spend.evaluate(bytes, fo.run); over != nil {
		fo.i.exceed(over)
	}
	switch {
	case fo.ends:
		fl.finish(c, s)
	case fo.killer != nil:
		fl.killFold(c, s, *fo.killer)
	}
	return fo.more
}

// killFold ends a reduce because an element has failed.
func (fl *flow) killFold(c *definition.Component, s events.ScopeID, by came) {
	if by.err != nil {
		fl.markFailed(s, 0, *by.err)
	}
	fl.die(c, s, suppressed)
}

// finish makes the fact of a reduce.
func (fl *flow) finish(c *definition.Component, s events.ScopeID) {
	f := fl.folds.get(uint64(s), uint32(c.Index))
	parents := []events.FactID{f.Last}
	i := invocation{fl.turn, c, 0, activation{scope: s, parents: parents, depth: fl.facts.depth(parents)}}
	i.produceFold(uint64(s))
}

// produceFold makes the fact of a reduce. Its parts were measured.
func (i invocation) produceFold(place uint64) {
	t := i.t
	guarded := t.spend.guarded
	t.spend.guarded = false
	i.produce(t.folds.result(i.c, place, t.folds.get(place, uint32(i.c.Index))))
	t.spend.guarded = guarded
}

// result is the value of a reduce.
func (fs *folds) result(c *definition.Component, place uint64, f *fold) json.RawMessage {
	if !c.Fold.Errors {
		return fs.acc(place, uint32(c.Index))
	}
	type failed struct {
		Index uint64            `json:"index"`
		Error *events.TaskError `json:"error"`
	}
	list := []failed{}
	fs.eachKept(place, uint32(c.Index), func(index uint64, a *arm) {
		if len(list) < maxErrors && a.Dead == suppressed && index < f.Next {
			list = append(list, failed{index, a.Error})
		}
	})
	return mustJSON(map[string]any{"value": fs.acc(place, uint32(c.Index)), "errors": list})
}

// folding is a run of folds of one reduce, which one event tells of.
type folding struct {
	*flow
	c     *definition.Component
	i     invocation
	f     *fold // as of the begin
	place uint64
	get   func(index uint64) *came // what there is of an element; nil: nothing yet
	item  func(index uint64, g *came) (any, error)

	next, failed uint64 // not recorded yet
	folded       int
	newest       *came // of those
	acc          any
	known        bool // acc is read
	most         int  // elements in one event
	tooMuch      bool // their value is too large

	more   bool  // there is more to fold
	ends   bool  // it has its value
	killer *came // the failed element that it ends with
}

// foldsAtOnce is how many elements one event tells of, or as many as have waited for that.
const foldsAtOnce = 256

// run folds one element after the other. A value that is too large is that of one element: it
// is found by folding them one by one.
func (fo *folding) run() {
	fo.most = max(foldsAtOnce, int(fo.f.waits()))
	if fo.pass(); fo.tooMuch {
		fo.most, fo.tooMuch = 1, false
		fo.reset()
		fo.pass()
	}
}

func (fo *folding) reset() {
	fo.next, fo.failed, fo.folded, fo.known = fo.f.Next, 0, 0, false
}

// pass folds until something ends it.
func (fo *folding) pass() {
	for fo.next < fo.f.Total {
		g := fo.get(fo.next)
		if g == nil {
			fo.commit()
			return
		}
		if fo.folded >= fo.most {
			fo.more = fo.commit()
			return
		}
		if !fo.one(g) {
			return
		}
	}
	fo.ends = fo.commit()
}

// one folds one element; false: the pass is over.
func (fo *folding) one(g *came) bool {
	switch {
	case g.dead == notTaken:
		fo.next++
		return true
	case g.dead == suppressed:
		if !fo.c.Fold.Partial && fo.f.Failed+fo.failed >= fo.tolerance() {
			if fo.commit() {
				fo.killer = g
			}
			return false
		}
		fo.next++
		fo.failed++
		return true
	case fo.c.Fold.With == nil:
		fo.commit()
		fo.at(g)
		fo.i.enqueue()
		return false
	}
	return fo.evaluate(g)
}

// at says of what element a runnable will be.
func (fo *folding) at(g *came) {
	if fo.c.Fold.Over >= 0 {
		fo.i.parents = []events.FactID{g.fact}
		fo.i.depth = fo.facts.depth(fo.i.parents)
	}
}

// tolerance is how many failed elements are left out.
func (fo *folding) tolerance() uint64 {
	return uint64(fo.component(uint32(fo.c.Fold.Over)).Each.Tolerate.Of(int(fo.f.Total)))
}

// evaluate folds an element by the expression.
func (fo *folding) evaluate(g *came) bool {
	if fo.most == 1 {
		fo.commit() // those that were left out
	}
	stop, err := fo.step(g)
	switch {
	case err != nil && fo.spend.spent() && fo.folded > 0: // it has all its steps in the next run
		fo.spend.account.Left = fo.spend.budget.Steps // to write down what there is
		fo.more = fo.commit()
		fo.spend.account.Left = 0
		return false
	case err != nil:
		if fo.commit() {
			fo.at(g)
			fo.i.fail(fmt.Errorf("element %d: %w", fo.next, err))
		}
		return false
	}
	fo.newest = g
	fo.next++
	fo.folded++
	if stop {
		fo.ends = fo.commit()
		return false
	}
	return true
}

func (fo *folding) step(g *came) (stop bool, err error) {
	if !fo.known {
		if fo.acc, err = fo.account().Decode(fo.folds.acc(fo.place, uint32(fo.c.Index))); err != nil {
			return false, err
		}
		fo.known = true
	}
	item, err := fo.item(fo.next, g)
	if err != nil {
		return false, err
	}
	env := fo.contexts.foldEnv(fo.c, fo.i.activation, expr.Fold{Acc: fo.acc, Item: item, Index: int64(fo.next)})
	acc, err := fo.c.Fold.With.Value(env)
	if err != nil {
		return false, err
	}
	if fo.c.Fold.Until != nil {
		env.Fold.Acc = acc
		if stop, err = fo.c.Fold.Until.Holds(env); err != nil {
			return false, err
		}
	}
	fo.acc = acc
	return stop, nil
}

// commit records what was folded; false: it is too much, or has failed for that.
func (fo *folding) commit() bool {
	if fo.next == fo.f.Next {
		return true
	}
	e := &events.Folded{Component: uint32(fo.c.Index), Place: fo.place, Next: fo.next, Failed: fo.failed}
	if fo.folded > 0 {
		var err error
		if e.Value, err = fo.account().Append(nil, fo.acc); err != nil || fo.spend.beyond(len(e.Value)) {
			fo.refuse(len(e.Value), err)
			return false
		}
		e.Last = fo.newest.fact
	}
	fo.emit(e)
	fo.f = fo.folds.get(fo.place, uint32(fo.c.Index))
	fo.failed, fo.folded = 0, 0
	return true
}

// refuse takes note that the value of a pass is too large, or fails the element that made it so.
func (fo *folding) refuse(bytes int, err error) {
	if fo.folded > 1 {
		fo.tooMuch = true
		return
	}
	fo.at(fo.newest)
	if err != nil {
		fo.i.fail(err)
		return
	}
	fo.spend.holds(bytes) // gives it up
}
