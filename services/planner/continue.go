package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
)

// pieces is the work of a decision: first what earlier ones have left in hand, oldest
// first, then its own, in the order in which it came up. What a decision has no budget for
// it leaves in hand.
type pieces struct {
	*turn
	done  uint64      // of the work in hand
	first events.Work // the oldest that remains in hand, if begun
	begun bool        // first is that
	own   []events.Work
	next  int // of own
}

// add queues work.
func (ps *pieces) add(w events.Work) { ps.own = append(ps.own, w) }

// front is the work that is next; false: there is none.
func (ps *pieces) front() (events.Work, bool) {
	if ps.done < ps.head.inHand() {
		if !ps.begun {
			ps.first, ps.begun = *ps.hand.at(ps.done), true
		}
		return ps.first, true
	}
	if ps.next < len(ps.own) {
		return ps.own[ps.next], true
	}
	return events.Work{}, false
}

// pop takes the front away: it is done.
func (ps *pieces) pop() {
	if ps.done < ps.head.inHand() {
		ps.done++
		ps.begun = false
		return
	}
	ps.next++
}

// keep notes how far the front is done.
func (ps *pieces) keep(cursor uint64) {
	if ps.done < ps.head.inHand() {
		ps.first.Cursor = cursor
		return
	}
	ps.own[ps.next].Cursor = cursor
}

// leave records what is left in hand, and what no longer is.
func (ps *pieces) leave() {
	e := events.WorkInHand{Done: ps.done}
	if ps.begun && ps.first.Cursor != ps.hand.at(ps.done).Cursor {
		e.Cursor = ps.first.Cursor
	}
	if rest := ps.own[ps.next:]; len(rest) > 0 {
		e.Added = slices.Clone(rest)
	} else if ps.done == ps.head.inHand() && ps.spend.full() && ps.queue.waits() {
		e.Added = []events.Work{{Kind: events.WorkAdmit}}
	}
	if e.Done > 0 || e.Cursor > 0 || len(e.Added) > 0 {
		ps.done, ps.begun, ps.own, ps.next = 0, false, ps.own[:0], 0
		ps.record(e)
	}
	if closing, turns := ps.closeRested(), ps.takeTurns(); closing || turns { // the budget is spent, and the counts are those of all that is left
		e = events.WorkInHand{Added: slices.Clone(ps.own[ps.next:])}
		ps.own, ps.next = ps.own[:0], 0
		ps.record(e)
	}
}

// record takes a copy: most decisions leave nothing, and make no event of it.
func (ps *pieces) record(e events.WorkInHand) { ps.emit(&e) }

// goOn does work until nothing is left, or the budget is spent.
func (t *turn) goOn() {
	for !t.spend.full() {
		w, ok := t.pieces.front()
		if ok {
			t.work(w)
		} else if !t.takeTurns() && !t.closeRested() && !t.admit() {
			return
		}
	}
}

// work does as much of the front as there is budget for: one line per kind.
func (t *turn) work(w events.Work) {
	winding := t.head.Status.winding()
	switch {
	case w.Kind == events.WorkCancel:
		t.cancelSome(w)
	case w.Kind == events.WorkRemove:
		t.removeSome()
	case winding: // what the run would have come to does not matter any more
		t.spend.events--
		t.pieces.pop()
	case w.Kind == events.WorkSpread:
		t.flow.spread(w)
	case w.Kind == events.WorkRace:
		t.raceSome(w)
	case w.Kind == events.WorkRearm:
		t.rearmSome(w)
	case w.Kind == events.WorkClose:
		t.closeScope(w.Scope)
	case w.Kind == events.WorkScopes:
		t.proceedWith(w.Runnable)
	case w.Kind == events.WorkFold:
		t.flow.foldMore(w)
	case w.Kind == events.WorkRetry:
		t.retrySome(w)
	default: // WorkAdmit, WorkDrop: what is ready is admitted, and what is old forgotten, when nothing else is left
		t.pieces.pop()
	}
}

// lookSteps is what it takes to look at a runnable that may not be meant.
const lookSteps = 16

// each does something to the runnables behind the front's cursor that are picked, as
// far as there is budget, and takes the front away when it has seen all: then it is over.
func (t *turn) each(w events.Work, pick func(events.RunnableID, *runnable) bool, do func(events.RunnableID)) (over bool) {
	ids, last, more := t.runs.behind(w.Cursor, pick, &t.spend)
	for i, id := range ids {
		do(id)
		if t.spend.full() && (more || i+1 < len(ids)) {
			t.pieces.keep(uint64(id))
			return false
		}
	}
	if more {
		t.pieces.keep(last)
		return false
	}
	t.pieces.pop()
	return true
}

// eachNamed does the same to those that are named, in their order.
func (t *turn) eachNamed(w events.Work, named []events.RunnableID, pick func(events.RunnableID, *runnable) bool, do func(events.RunnableID)) (over bool) {
	for i, id := range named {
		if uint64(id) <= w.Cursor {
			continue
		}
		t.spend.steps -= lookSteps
		if r := t.runs.get(id); r != nil && pick(id, r) {
			do(id)
		}
		if t.spend.full() && i+1 < len(named) {
			t.pieces.keep(uint64(id))
			return false
		}
	}
	t.pieces.pop()
	return true
}
