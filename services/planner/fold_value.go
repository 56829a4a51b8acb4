package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// heldInside is how large what a reduce has come to may be, in bytes, to stand in the row of its
// fold. A larger one has a row of its own: that of the fold changes with each element.
const heldInside = 256

// bytesForOne is how many bytes of what a reduce has come to are written, at most, for each element
// that is folded: a list that grows with each would be written as often as it is long. So many
// elements are folded at once.
const bytesForOne = 128

// waits is how many results a reduce lets come before it folds them.
func (f *fold) waits() uint64 { return f.Bytes / bytesForOne }

func heldKey(wf string, place uint64, component uint32) rows.Key {
	return rows.Key{Table: rows.Fold, Workflow: wf, A: place, B: uint64(component), C: 1}
}

// acc is what came of the elements before the next.
func (fs *folds) acc(place uint64, component uint32) json.RawMessage {
	f := fs.get(place, component)
	switch {
	case f.Fact != 0:
		return fs.facts.get(f.Fact).Value
	case f.Bytes > 0:
		return rows.Get[fold](fs.tx, heldKey(fs.id, place, component)).Value
	}
	return f.Value
}

// hold keeps what a reduce has come to.
func (fs *folds) hold(f *fold, e *events.Folded) {
	k, held := heldKey(fs.id, e.Place, e.Component), f.Bytes > 0
	f.Value, f.Fact, f.Bytes = e.Value, e.Fact, 0
	switch {
	case len(e.Value) > heldInside:
		fs.tx.Put(k, &fold{Value: e.Value})
		f.Value, f.Bytes = nil, uint64(len(e.Value))
	case held:
		fs.tx.Delete(k)
	}
}

// size is how many bytes acc has.
func (fs *folds) size(f *fold) int {
	switch {
	case f.Fact != 0:
		return len(fs.facts.get(f.Fact).Value)
	case f.Bytes > 0:
		return int(f.Bytes)
	}
	return len(f.Value)
}

// ahead is how many bytes a runnable works on that goes on with its list. What brought the list
// is not read again, as it may be long: only a reduce evaluates something there.
func (fs *folds) ahead(i invocation) int {
	if i.c.Fold == nil || !i.t.spend.limited {
		return 0
	}
	f := fs.get(uint64(i.parents[0]), uint32(i.c.Index))
	if list := i.through(); f == nil || list.Next >= list.Count {
		return 0
	}
	return fs.size(f) + len(i.element())
}

// remove removes a fold with its value.
func (fs *folds) remove(place uint64, component uint32) {
	if fs.get(place, component).Bytes > 0 {
		fs.tx.Delete(heldKey(fs.id, place, component))
	}
	fs.tx.Delete(foldKey(fs.id, place, component))
}
