package planner

import (
	"strconv"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// pageFacts is how many facts a page has room for. The number is in keys of
// rows: it stays.
const pageFacts = 16

// factPage holds the small facts of pageFacts ids that follow each other, by id
// modulo pageFacts: in a store and in a changelog, a row for each of them would
// cost more than they do. A fact that is not here has a row of its own.
//
// Versions of a page share their array: one is made from the other by appending
// only, and there is no way back to an older one.
type factPage struct{ Facts []*fact }

// Fields implements wire.Message.
func (p *factPage) Fields(c *wire.Codec) {
	if c.Decoding() {
		p.Facts = append(p.Facts, make([]*fact, pageFacts-len(p.Facts))...)
	}
	for i := range p.Facts {
		wire.Optional(c, i+1, pageNames[i], &p.Facts[i])
	}
	if c.Decoding() {
		p.trim()
	}
}

// trim takes the room behind the last fact away.
func (p *factPage) trim() {
	n := len(p.Facts)
	for n > 0 && p.Facts[n-1] == nil {
		n--
	}
	p.Facts = p.Facts[:n]
}

// at is the fact of an id, or nil if it is not here.
func (p *factPage) at(id events.FactID) *fact {
	if i := int(id % pageFacts); i < len(p.Facts) {
		return p.Facts[i]
	}
	return nil
}

// add appends the fact of an id behind all that are here.
func (p *factPage) add(id events.FactID, f *fact) {
	for i := int(id % pageFacts); len(p.Facts) < i; {
		p.Facts = append(p.Facts, nil)
	}
	p.Facts = append(p.Facts, f)
}

// Touch implements rows.Touched: it touches the newest fact.
func (p *factPage) Touch() uint64 {
	if len(p.Facts) == 0 {
		return 0
	}
	f := p.Facts[len(p.Facts)-1]
	return uint64(f.Depth) + uint64(len(f.Executor))
}

var pageNames = func() (names [pageFacts]string) {
	for i := range names {
		names[i] = "fact" + strconv.Itoa(i)
	}
	return names
}()

const (
	maxPagedValue = 256 // bytes
	maxPagedText  = 64  // bytes of an executor's name
	maxPagedArms  = 16
)

// small reports whether a fact is kept in a page. Larger ones would be written
// again with each of their neighbours.
func (f *fact) small() bool {
	return len(f.Value) <= maxPagedValue && len(f.Executor) <= maxPagedText && len(f.Parents) <= maxPagedArms && len(f.Past) == 0
}

// keep adds a new fact to the state.
func (fs *facts) keep(id events.FactID, f *fact) {
	if !f.small() {
		fs.tx.Create(factKey(fs.id, id), f)
		return
	}
	rows.Change[factPage](fs.tx, pageKey(fs.id, id)).add(id, f)
}

// get returns a fact that exists; the caller must not change it.
func (fs *facts) get(id events.FactID) *fact {
	if p := rows.Get[factPage](fs.tx, pageKey(fs.id, id)); p != nil {
		if f := p.at(id); f != nil {
			return f
		}
	}
	return rows.Get[fact](fs.tx, factKey(fs.id, id))
}

// each visits the facts of the workflow from an id on, in the order of
// their ids, until visit returns false. Ids have no gaps unless some are forgotten.
func (fs *facts) each(from events.FactID, visit func(events.FactID, *fact) bool) {
	if fs.head.SettledNext > 0 {
		fs.eachKept(from, visit)
		return
	}
	for id := max(from, 1); uint64(id) <= fs.head.NextFact; id++ {
		if !visit(id, fs.get(id)) {
			return
		}
	}
}

// eachKept does the same where facts are forgotten.
func (fs *facts) eachKept(from events.FactID, visit func(events.FactID, *fact) bool) {
	for at := uint64(max(from, 1)); at <= fs.head.NextFact; {
		ids, end := fs.present(at, fs.head.NextFact, pageFacts)
		for _, id := range ids {
			if f := fs.get(id); fs.shown(id, f) && !visit(id, f) {
				return
			}
		}
		at = end + 1
	}
}

func factKey(wf string, id events.FactID) rows.Key {
	return rows.Key{Table: rows.Fact, Workflow: wf, A: uint64(id)}
}

func pageKey(wf string, id events.FactID) rows.Key {
	return rows.Key{Table: rows.Page, Workflow: wf, A: uint64(id / pageFacts)}
}
