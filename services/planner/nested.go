package planner

import (
	"encoding/json"
	"strconv"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// scoped is a kind whose runnables open scopes of their own: one for each element or
// iteration. A scope counts what is open in it, and counts itself as one in the scope
// around it; at zero it is closed, and its runnable goes on.
type scoped interface {
	kind
	// proceed opens the next scope of a runnable that has fanned out, or ends it, if it is
	// time for either, and reports whether it is to be called again at once.
	proceed(invocation) bool
}

// fanned is what a runnable knows of its own scopes. It is replaced as a whole: versions
// of a row share it.
type fanned struct {
	Next uint64 // index of the next one
	Open uint64 // how many are open

	Failed uint64 // how many have failed

	// Of a list that it goes through.
	Count uint64 // elements
	Page  uint64 // the page with the next
	First uint64 // index of the first element there
	Pages uint64 // how many there were
}

// Fields implements wire.Message.
func (f *fanned) Fields(c *wire.Codec) {
	wire.Int(c, 1, "next", &f.Next)
	wire.Int(c, 2, "open", &f.Open)
	wire.Int(c, 3, "failed", &f.Failed)
	wire.Int(c, 4, "count", &f.Count)
	wire.Int(c, 5, "page", &f.Page)
	wire.Int(c, 6, "first", &f.First)
	wire.Int(c, 7, "pages", &f.Pages)
}

// opened is which scope a fact has opened.
type opened struct {
	Outer events.ScopeID // the scope around it
	Index uint64         // among the runnable's own
}

// Fields implements wire.Message.
func (o *opened) Fields(c *wire.Codec) {
	wire.Int(c, 1, "outer", &o.Outer)
	wire.Int(c, 2, "index", &o.Index)
}

// fanOut makes the runnable wait for scopes of its own, or for a list that it goes through.
func (i invocation) fanOut() events.RunnableID {
	if i.id == 0 {
		i.id = i.ready(i.policy().Append(nil))
	}
	i.t.emit(&events.FannedOut{Runnable: i.id})
	i.t.pieces.add(events.Work{Kind: events.WorkScopes, Runnable: i.id})
	return i.id
}

// fanned is the index of the runnable's next scope, and how many of its scopes are open.
func (i invocation) fanned() (next, open uint64) {
	f := i.t.runs.get(i.id).Fanned
	return f.Next, f.Open
}

// enter opens the next scope with a value, which goes to the component's children there.
func (i invocation) enter(value json.RawMessage) {
	i.t.spend.holds(len(value))
	next, _ := i.fanned()
	f := i.t.nextFact()
	i.t.emit(&events.ScopeOpened{Runnable: i.id, Fact: f, Index: next, Value: value})
	i.t.flow.yield(i.c, f, f)
}

// end completes the runnable, none of whose scopes is open, with a fact that goes nowhere.
func (i invocation) end(value json.RawMessage) {
	i.t.emit(&events.RunnableCompleted{Runnable: i.id, Fact: i.t.nextFact(), Value: value, Started: i.t.now, Finished: i.t.now})
}

// proceedWith opens scopes of a runnable for as long as its kind wants to and there is budget.
func (t *turn) proceedWith(id events.RunnableID) {
	for more := true; more; {
		r := t.runs.get(id)
		if r == nil || r.Status != runWaiting {
			break // it has ended, or was given up
		}
		i := t.invoked(id)
		more = false
		i.doOver(t.folds.ahead(i), func(i invocation) { more = i.kind().(scoped).proceed(i) })
		if more && t.spend.full() {
			return
		}
	}
	t.pieces.pop()
}

// closeRested lines up the closing of nested scopes in which this decision has left
// nothing open, and reports whether there are any.
func (t *turn) closeRested() bool {
	if t.head.Status.winding() {
		return false
	}
	found := false
	for n := range t.scopes.openings {
		o := &t.scopes.openings[n]
		if !o.closing && t.scopes.over(o.scope, o.by) {
			o.closing, found = true, true
			t.pieces.add(events.Work{Kind: events.WorkClose, Scope: o.scope})
		}
	}
	return found
}

// closeScope closes a nested scope, and lets its runnable go on.
func (t *turn) closeScope(s events.ScopeID) {
	t.pieces.pop()
	t.scopes.write()
	if t.scopes.over(s, 0) {
		owner := t.scopes.row(s).Owner
		t.emit(&events.ScopeClosed{Scope: s})
		t.pieces.add(events.Work{Kind: events.WorkScopes, Runnable: owner})
	}
}

// row is the row of a scope, if it has one.
func (ss *scopes) row(s events.ScopeID) *scope {
	if ss.head.scope(s) >= 0 {
		return nil
	}
	return rows.Get[scope](ss.tx, scopeKey(ss.id, s))
}

// over reports whether nothing is open in a nested scope. What has come to rest cannot
// begin again: whatever may is open.
func (ss *scopes) over(s events.ScopeID, pending int64) bool {
	sc := ss.row(s)
	return sc != nil && sc.Outer != 0 && int64(sc.Open)+pending == 0
}

// root is the input that a scope descends from.
func (ss *scopes) root(s events.ScopeID) events.ScopeID {
	if sc := ss.row(s); sc != nil && sc.Outer != 0 {
		return sc.Root
	}
	return s
}

// fannedOut makes a runnable wait for scopes of its own. One that is retried goes on with
// the next: what came of those before it counts.
func (rs *runnables) fannedOut(e *events.FannedOut) {
	r := rs.change(e.Runnable)
	rs.leave(e.Runnable, r)
	rs.unlimited(e.Runnable, r) // it is no attempt
	r.Status, r.Due = runWaiting, 0
	if r.Fanned == nil {
		r.Fanned = &fanned{}
	}
	rs.h().Waiting++
}

// edited gives a runnable another input, for which it begins anew: scopes that are open
// are of the former one, and it ends when they are closed too.
func (r *runnable) edited(input json.RawMessage) {
	r.Input = input
	if r.Fanned != nil {
		r.Fanned = &fanned{Open: r.Fanned.Open}
	}
}

// nest begins to count what descends from the fact of a nested scope.
func (ss *scopes) nest(e *events.ScopeOpened) {
	r := ss.runs.change(e.Runnable)
	f := *r.Fanned
	f.Open++
	ss.runs.advance(e.Runnable, &f, e.Index+1)
	r.Fanned = &f
	ss.tx.Create(scopeKey(ss.id, e.Fact), &scope{Owner: e.Runnable, Outer: r.Scope, Root: ss.root(r.Scope)})
	ss.opened(r.Scope)
	ss.count(e.Fact, 0)
	ss.h().NextFact = uint64(e.Fact)
	ss.facts.keep(e.Fact, &fact{
		Component: r.Component + 1, Scope: e.Fact, Parents: r.Parents, Depth: r.Depth, Time: ss.now, Value: e.Value,
		Opened: &opened{Outer: r.Scope, Index: e.Index},
	})
}

// unnest forgets a nested scope.
func (ss *scopes) unnest(e *events.ScopeClosed) {
	ss.write()
	sc := ss.row(e.Scope)
	r := ss.runs.change(sc.Owner)
	f := *r.Fanned
	f.Open--
	r.Fanned = &f
	ss.closed(sc.Outer)
	ss.tx.Delete(scopeKey(ss.id, e.Scope))
}

// path is a scope as people read it: the input, then an index for each scope within.
func (fs *facts) path(s events.ScopeID) string {
	f := fs.get(s)
	if f == nil || f.Opened == nil { // an input, or what is shown of one that is forgotten
		return s.String()
	}
	o := f.Opened
	return fs.path(o.Outer) + "/" + strconv.FormatUint(o.Index, 10)
}

// element is the index of a nested scope among those of its runnable; nil: an input's.
func (fs *facts) element(s events.ScopeID) *uint64 {
	if f := fs.get(s); f != nil && f.Opened != nil {
		return &f.Opened.Index
	}
	return nil
}
