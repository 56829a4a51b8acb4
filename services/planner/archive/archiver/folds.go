package archiver

import (
	"container/list"

	"github.com/heddle-run/heddle/services/planner/archive"
)

// mostFolded bounds the folded runs that are at hand, by the bytes of their entries.
const mostFolded = 16 << 20

// folds are runs that were folded and go on, so that the next rest of one folds what is new. That used longest ago goes first.
type folds struct {
	most  int
	bytes int
	order *list.List // of *folding
	byID  map[string]*list.Element
}

// folding is a run that is folded so far.
type folding struct {
	id      string
	fold    *archive.Folded
	entries uint64
	bytes   int // of the entries
}

func newFolds(most int) *folds {
	return &folds{most: most, order: list.New(), byID: map[string]*list.Element{}}
}

// take takes a run out; nil: it is not there.
func (f *folds) take(id string) *folding {
	e := f.byID[id]
	if e == nil {
		return nil
	}
	return f.remove(e)
}

func (f *folds) remove(e *list.Element) *folding {
	g := f.order.Remove(e).(*folding)
	delete(f.byID, g.id)
	f.bytes -= g.bytes
	return g
}

// put puts a run in that is not there.
func (f *folds) put(g *folding) {
	f.byID[g.id] = f.order.PushBack(g)
	f.bytes += g.bytes
	for f.bytes > f.most {
		f.remove(f.order.Front())
	}
}
