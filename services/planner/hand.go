package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// inHand knows the rows of the work that decisions have left: a queue, whose numbers
// are in the header. Both are 0 when nothing is in hand.
type inHand struct{ *workflow }

func handKey(wf string, n uint64) rows.Key {
	return rows.Key{Table: rows.InHand, Workflow: wf, A: n}
}

// inHand reports how much work is in hand.
func (h *header) inHand() uint64 { return h.HandNext - h.HandFirst }

// at is the nth work in hand, from the oldest.
func (ih *inHand) at(n uint64) *events.Work {
	return rows.Get[events.Work](ih.tx, handKey(ih.id, ih.head.HandFirst+n))
}

// left changes what is in hand by what a record says of it.
func (ih *inHand) left(e *events.WorkInHand) {
	ih.drop(e.Done)
	h := ih.h()
	if e.Cursor > 0 {
		rows.Change[events.Work](ih.tx, handKey(ih.id, h.HandFirst)).Cursor = e.Cursor
	}
	for i := range e.Added {
		work := e.Added[i]
		ih.tx.Create(handKey(ih.id, h.HandNext), &work)
		h.HandNext++
		if counted(&work) {
			ih.scopes.opened(work.Scope)
		}
		if work.Kind == events.WorkRearm {
			ih.disarm()
		}
	}
	ih.rest()
}

// drop removes the oldest work.
func (ih *inHand) drop(n uint64) {
	h := ih.h()
	for range n {
		if work := ih.at(0); counted(work) {
			ih.scopes.closed(work.Scope)
		}
		ih.tx.Delete(handKey(ih.id, h.HandFirst))
		h.HandFirst++
	}
	ih.rest()
}

// rest lets the numbers begin again when nothing is in hand.
func (ih *inHand) rest() {
	if h := ih.h(); h.inHand() == 0 {
		h.HandFirst, h.HandNext = 0, 0
	}
}

// counted reports whether work is of what is open in a scope.
func counted(w *events.Work) bool { return w.Kind == events.WorkSpread || w.Kind == events.WorkFold }
