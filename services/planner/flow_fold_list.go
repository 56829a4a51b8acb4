package planner

import (
	"encoding/json"
	"errors"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

var errNoFold = errors.New("the edited input of a reduce is {acc, item, index}")

// foldsOne reports whether the runnable of a reduce folds one element.
func (i invocation) foldsOne() bool {
	if i.id == 0 || i.t.runs.get(i.id).Fanned != nil {
		return false
	}
	f := i.t.folds.get(placeOf(i.c, i.scope, i.parents), uint32(i.c.Index))
	return f != nil && f.Busy == i.id
}

// hasList reports whether the runnable goes through a list already.
func (i invocation) hasList() bool { return i.t.runs.get(i.id).Fanned != nil }

// takeValue takes what arrived as a list to fold.
func (i invocation) takeValue() {
	list, err := i.t.account().Decode(i.value())
	if err != nil {
		i.fail(err)
		return
	}
	i.take(list)
}

// foldList folds the next elements of the runnable's list. It reports whether there is more to fold.
func (i invocation) foldList() bool {
	t, place := i.t, uint64(i.parents[0])
	f := t.folds.get(place, uint32(i.c.Index))
	if f == nil || f.Busy != 0 {
		return false
	}
	list := t.runs.get(i.id).Fanned
	fo := folding{flow: &t.flow, c: i.c, i: i, f: f, place: place, next: f.Next}
	fo.get = func(uint64) *came { return &came{} }
	fo.item = func(index uint64, _ *came) (any, error) {
		return t.account().Decode(t.runs.element(i.id, list, index))
	}
	if i.c.Fold.With == nil {
		fo.i.id = 0 // each element has a runnable of its own
	}
	fo.run()
	if fo.ends {
		i.produceFold(place)
	}
	return fo.more
}

// foldAgain folds an element again whose fold has failed: by its expression, or another attempt.
func (i invocation) foldAgain() {
	if i.c.Fold.With == nil {
		i.lineUp()
		return
	}
	env, err := i.foldEnv(i.value())
	if err != nil {
		i.fail(err)
		return
	}
	value, err := i.c.Fold.With.Eval(env)
	if err != nil {
		i.fail(err)
		return
	}
	i.t.spend.holds(len(value))
	stop, err := i.stops(value)
	if err != nil {
		i.fail(err)
		return
	}
	i.t.ends.foldedOne(i, value, stop, &events.TaskOutcome{Started: i.t.now, Finished: i.t.now})
}

// completeFold takes the outcome of a task that folds.
func (en *ends) completeFold(id events.RunnableID, value json.RawMessage, m *events.TaskOutcome) {
	stop, decided := false, false
	i := en.invoked(id)
	i.do(func(i invocation) {
		var err error
		if stop, err = i.stops(value); err != nil {
			i.fail(err)
			return
		}
		decided = true
	})
	if decided {
		en.foldedOne(i, value, stop, m)
	}
}

// foldEnv is what a reducer sees, of the input of a runnable that folds one element.
func (i invocation) foldEnv(input json.RawMessage) (expr.Env, error) {
	var given expr.Fold
	v, err := i.t.account().Decode(input)
	if err != nil {
		return expr.Env{}, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return expr.Env{}, errNoFold
	}
	given.Acc, given.Item = fields["acc"], fields["item"]
	if given.Index, ok = fields["index"].(int64); !ok {
		return expr.Env{}, errNoFold
	}
	return i.t.contexts.foldEnv(i.c, i.activation, given), nil
}

// foldedOne takes what a runnable has made of one element.
func (en *ends) foldedOne(i invocation, value json.RawMessage, stop bool, m *events.TaskOutcome) {
	place := placeOf(i.c, i.scope, i.parents)
	f := en.folds.get(place, uint32(i.c.Index))
	current := f != nil && f.Busy == i.id
	e := &events.RunnableCompleted{Runnable: i.id, Fact: en.nextFact(), Value: value, Executor: m.Executor, Started: m.Started, Finished: m.Finished}
	en.emit(e)
	if !current {
		return // the reduce is over
	}
	folded := &events.Folded{Component: uint32(i.c.Index), Place: place, Next: f.Next + 1, Fact: e.Fact}
	if i.c.Fold.Over >= 0 {
		folded.Last = i.parents[0]
	}
	en.emit(folded)
	switch {
	case i.c.Fold.Over < 0 && (stop || folded.Next == f.Total):
		i.id = f.Owner
		i.produceFold(place)
		return
	case stop || folded.Next == f.Total:
		en.flow.finish(i.c, i.scope)
	case i.c.Fold.Over >= 0:
		en.pieces.add(events.Work{Kind: events.WorkFold, Component: uint32(i.c.Index) + 1, Scope: i.scope})
	}
	en.pieces.add(events.Work{Kind: events.WorkScopes, Runnable: f.Owner}) // there is room for more
}

// stops reports whether the rest is not folded.
func (i invocation) stops(acc json.RawMessage) (stop bool, err error) {
	if i.c.Fold.Until == nil {
		return false, nil
	}
	env, err := i.foldEnv(i.value())
	if err != nil {
		return false, err
	}
	if env.Fold.Acc, err = i.t.account().Decode(acc); err != nil {
		return false, err
	}
	return i.c.Fold.Until.Holds(env)
}

// foldOwner is what goes through the list of which a runnable folds an element; 0: it does not.
func (t *turn) foldOwner(id events.RunnableID) events.RunnableID {
	r := t.runs.get(id)
	c := t.component(r.Component)
	if c.Fold == nil || r.Fanned != nil {
		return 0
	}
	if f := t.folds.get(placeOf(c, r.Scope, r.Parents), r.Component); f != nil && f.Busy == id {
		return f.Owner
	}
	return 0
}

// foldedBy is what folds an element of the list that a runnable goes through; 0: nothing does.
func (t *turn) foldedBy(r *runnable) events.RunnableID {
	c := t.component(r.Component)
	if c.Fold == nil || r.Fanned == nil {
		return 0
	}
	if f := t.folds.get(placeOf(c, r.Scope, r.Parents), r.Component); f != nil {
		return f.Busy
	}
	return 0
}

// foldGivenUp goes on behind a runnable of a reduce that was given up. Nobody needs its list
// any more; a map has no fold to wait for.
func (t *turn) foldGivenUp(r *runnable, owner events.RunnableID) {
	switch {
	case owner == 0:
	case t.component(r.Component).Fold.Over < 0:
		if !t.runs.get(owner).Status.open() {
			return
		}
		t.emit(&events.RunnableSkipped{Runnable: owner})
	default:
		t.pieces.add(events.Work{Kind: events.WorkScopes, Runnable: owner})
	}
}
