package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// settled is an input that has settled, in the order in which inputs did, with the newest
// numbers as of then: nothing of it is above them. It is forgotten as a whole, first what is
// not a fact, then its facts in their order: with the first of them, its input, the others are
// shown no more.
type settled struct {
	Scope      events.ScopeID
	Runnables  uint64
	Suppressed uint64
	Facts      uint64

	Looked struct{ Runnables, Suppressed, Facts uint64 } // as far as it is forgotten
}

// Fields implements wire.Message.
func (s *settled) Fields(c *wire.Codec) {
	wire.Int(c, 1, "scope", &s.Scope)
	wire.Int(c, 2, "runnables", &s.Runnables)
	wire.Int(c, 3, "suppressed", &s.Suppressed)
	wire.Int(c, 4, "facts", &s.Facts)
	wire.Int(c, 5, "looked_runnables", &s.Looked.Runnables)
	wire.Int(c, 6, "looked_suppressed", &s.Looked.Suppressed)
	wire.Int(c, 7, "looked_facts", &s.Looked.Facts)
}

func settledKey(wf string, n uint64) rows.Key {
	return rows.Key{Table: rows.Settled, Workflow: wf, A: n}
}

// settled notes that an input has settled, where inputs are forgotten.
func (ss *scopes) settled(s events.ScopeID) {
	if ss.options().KeepFacts == 0 {
		return
	}
	h := ss.h()
	row := &settled{Scope: s, Runnables: h.NextRun, Suppressed: h.Suppressed, Facts: h.NextFact}
	row.Looked.Facts = uint64(s) - 1
	ss.tx.Create(settledKey(ss.id, h.SettledNext), row)
	h.SettledNext++
}

// old is the input that is to be forgotten next; nil: none is.
func (ss *scopes) old() *settled {
	h := ss.head
	if h.SettledFirst == h.SettledNext {
		return nil
	}
	s := rows.Get[settled](ss.tx, settledKey(ss.id, h.SettledFirst))
	if ss.options().KeepFacts == 0 || s.Facts+uint64(ss.options().KeepFacts) > h.NextFact {
		return nil
	}
	return s
}

// forgotten is how many rows a decision looks at, at most, to forget some of them.
const forgotten = 256

// droppedByEvent is how many rows take as long as an event.
const droppedByEvent = 4

// forget forgets some of what is old: at least a piece in each decision, so that there is an end.
func (t *turn) forget() {
	if t.head.Status.winding() || t.head.SettledFirst == t.head.SettledNext {
		return
	}
	for s := t.scopes.old(); s != nil; s = t.scopes.old() {
		t.emit(t.facts.drop(s, &t.spend))
		if t.spend.full() {
			break
		}
	}
	if t.head.inHand() == 0 && t.scopes.old() != nil {
		t.emit(&events.WorkInHand{Added: []events.Work{{Kind: events.WorkDrop}}})
	}
}

// drop says how much of an input is forgotten next.
func (fs *facts) drop(s *settled, spend *spending) *events.FactsDropped {
	e := &events.FactsDropped{Scope: s.Scope, Runnables: s.Runnables, Suppressed: s.Suppressed, Facts: s.Facts}
	looked := 0
	var more bool
	if fs.head.Skipped+fs.head.Cancelled > 0 {
		e.Runnables, looked, more = through[runnable](fs.tx, rows.Key{Table: rows.Runnable, Workflow: fs.id, A: s.Looked.Runnables + 1}, s.Runnables, looked)
	}
	if e.Suppressed = s.Looked.Suppressed; !more {
		e.Suppressed, looked, more = through[suppression](fs.tx, rows.Key{Table: rows.Suppressed, Workflow: fs.id, A: s.Looked.Suppressed + 1}, s.Suppressed, looked)
	}
	if e.Facts = s.Looked.Facts; !more {
		var ids []events.FactID
		ids, e.Facts = fs.present(s.Looked.Facts+1, s.Facts, max(1, forgotten-looked))
		looked += len(ids)
	}
	e.Forgotten = !more && e.Facts == s.Facts
	spend.events -= looked / droppedByEvent
	return e
}

// through is how far some rows reach, of those up to an end.
func through[T any, P wire.Pointer[T]](tx *rows.Tx, from rows.Key, end uint64, looked int) (last uint64, now int, more bool) {
	last = end
	rows.Scan(tx, from, func(k rows.Key, _ P) bool {
		if k.A > end {
			return false
		}
		if looked == forgotten {
			more, last = true, k.A-1
			return false
		}
		looked++
		return true
	})
	return last, looked, more
}

// dropped forgets what belongs to an input, as far as the event says.
func (fs *facts) dropped(e *events.FactsDropped) {
	k := settledKey(fs.id, fs.head.SettledFirst)
	s := rows.Change[settled](fs.tx, k)
	fs.dropRunnables(s, e.Runnables)
	fs.dropSuppressed(s, e.Suppressed)
	ids, _ := fs.present(s.Looked.Facts+1, e.Facts, maxFacts)
	for _, id := range ids {
		f := fs.get(id)
		if root := fs.root(f.Scope); (root == 0 || root == s.Scope) && !fs.pinned(id, f) {
			fs.remove(id)
		}
	}
	s.Looked.Runnables, s.Looked.Suppressed, s.Looked.Facts = e.Runnables, e.Suppressed, e.Facts
	if e.Forgotten {
		fs.tx.Delete(k)
		fs.h().SettledFirst++
	}
}

func (fs *facts) dropRunnables(s *settled, end uint64) {
	var own []rows.Key
	from := rows.Key{Table: rows.Runnable, Workflow: fs.id, A: s.Looked.Runnables + 1}
	rows.Scan(fs.tx, from, func(k rows.Key, r *runnable) bool {
		if k.A <= end && fs.root(r.Scope) == s.Scope && !fs.head.tells(events.RunnableID(k.A)) {
			own = append(own, k)
		}
		return k.A < end
	})
	fs.deleteRows(own)
}

// tells reports whether the header says that a runnable of a condition has failed.
func (h *header) tells(id events.RunnableID) bool {
	return h.Trouble != nil && slices.Contains(h.Trouble.FirstBad, id)
}

func (fs *facts) dropSuppressed(s *settled, end uint64) {
	var own []rows.Key
	from := rows.Key{Table: rows.Suppressed, Workflow: fs.id, A: s.Looked.Suppressed + 1}
	rows.Scan(fs.tx, from, func(k rows.Key, r *suppression) bool {
		if k.A <= end && fs.root(r.Scope) == s.Scope {
			own = append(own, k)
		}
		return k.A < end
	})
	fs.deleteRows(own)
}

// root is the input that a scope descends from; 0: it is forgotten.
func (fs *facts) root(s events.ScopeID) events.ScopeID {
	for {
		f := fs.get(s)
		switch {
		case f == nil:
			return 0
		case f.Opened == nil:
			return s
		}
		s = f.Opened.Outer
	}
}

// pinned reports whether results or a state show a fact, which keeps it.
func (fs *facts) pinned(id events.FactID, f *fact) bool {
	if f.Component == 0 {
		return false
	}
	c := fs.component(f.Component - 1)
	return fs.outputs.newest(c.Index) == id || c.Accumulate != nil && fs.states.of(uint32(c.Index)).Fact == id
}

// let removes a fact of an input that is forgotten once nothing shows it any more.
func (fs *facts) let(id events.FactID) {
	if id == 0 || fs.head.SettledNext == 0 {
		return
	}
	if f := fs.get(id); f != nil && !fs.pinned(id, f) && fs.root(f.Scope) == 0 {
		fs.remove(id)
	}
}

// shown reports whether a fact is there for those outside: its input is not forgotten, or
// it is what results or a state show.
func (fs *facts) shown(id events.FactID, f *fact) bool {
	return fs.root(f.Scope) != 0 || fs.pinned(id, f)
}

// remove takes a fact out of the state.
func (fs *facts) remove(id events.FactID) {
	k := pageKey(fs.id, id)
	if p := rows.Get[factPage](fs.tx, k); p == nil || p.at(id) == nil {
		fs.tx.Delete(factKey(fs.id, id))
		return
	}
	p := rows.Change[factPage](fs.tx, k)
	p.Facts = slices.Clone(p.Facts)
	p.Facts[id%pageFacts] = nil
	if p.trim(); len(p.Facts) == 0 {
		fs.tx.Delete(k)
	}
}

// maxFacts is more than there are.
const maxFacts = 1 << 62

// present are the ids of facts that exist from one to another, and how far they reach:
// there are about most of them, at most, unless that is where they end.
func (fs *facts) present(from, to uint64, most int) (ids []events.FactID, end uint64) {
	end = to
	rows.Scan(fs.tx, pageKey(fs.id, events.FactID(from)), func(k rows.Key, p *factPage) bool {
		if len(ids) >= most {
			end = min(end, uint64(ids[len(ids)-1]))
			return false
		}
		for n, f := range p.Facts {
			if id := k.A*pageFacts + uint64(n); f != nil && id >= from && id <= to {
				ids = append(ids, events.FactID(id))
			}
		}
		return (k.A+1)*pageFacts <= to
	})
	large := 0
	rows.Scan(fs.tx, factKey(fs.id, events.FactID(from)), func(k rows.Key, _ *fact) bool {
		if k.A > end {
			return false
		}
		if large >= most {
			end = k.A - 1
			return false
		}
		large++
		ids = append(ids, events.FactID(k.A))
		return true
	})
	slices.Sort(ids)
	for len(ids) > 0 && uint64(ids[len(ids)-1]) > end {
		ids = ids[:len(ids)-1]
	}
	return ids, end
}
