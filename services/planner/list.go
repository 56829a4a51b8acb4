package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// A list that a runnable goes through is cut into pages: reading an element costs the
// same wherever it is, and what is behind the runnable is gone.

// elements is a page of a list.
type elements struct{ Values []events.Element }

// Fields implements wire.Message.
func (p *elements) Fields(c *wire.Codec) { wire.Repeated(c, 1, "values", &p.Values) }

func (p *elements) size() (n int) {
	for i := range p.Values {
		n += len(p.Values[i].Value)
	}
	return n
}

// How many elements are in a page, and after how many bytes it is full. Only new lists
// are cut by them.
const (
	pageElements = 64
	pageBytes    = 16 << 10
)

func elementsKey(wf string, id events.RunnableID, page uint64) rows.Key {
	return rows.Key{Table: rows.Elements, Workflow: wf, A: uint64(id), B: page}
}

// took gives a runnable its list, and begins the folds of what comes of it.
func (rs *runnables) took(e *events.ListTaken) {
	r := rs.change(e.Runnable)
	rs.dropList(e.Runnable, r)
	f := &fanned{Count: uint64(len(e.Elements))}
	if r.Fanned != nil {
		f.Open = r.Fanned.Open
	}
	r.Fanned = f
	page, size := &elements{}, 0
	for i := range e.Elements {
		page.Values = append(page.Values, e.Elements[i])
		size += len(e.Elements[i].Value)
		if len(page.Values) == pageElements || size >= pageBytes || i+1 == len(e.Elements) {
			rs.tx.Create(elementsKey(rs.id, e.Runnable, r.Fanned.Pages), page)
			r.Fanned.Pages++
			page, size = &elements{}, 0
		}
	}
	rs.folds.begin(e.Runnable, r)
}

// element is the value at the index of a runnable's next scope.
func (rs *runnables) element(id events.RunnableID, f *fanned, index uint64) json.RawMessage {
	number, first := f.Page, f.First
	page := rows.Get[elements](rs.tx, elementsKey(rs.id, id, number))
	for index-first >= uint64(len(page.Values)) {
		first += uint64(len(page.Values))
		number++
		page = rows.Get[elements](rs.tx, elementsKey(rs.id, id, number))
	}
	return page.Values[index-first].Value
}

// advance moves a runnable on in its list, and drops the pages that it leaves behind.
func (rs *runnables) advance(id events.RunnableID, f *fanned, next uint64) {
	f.Next = next
	for f.Page < f.Pages {
		k := elementsKey(rs.id, id, f.Page)
		n := uint64(len(rows.Get[elements](rs.tx, k).Values))
		if f.First+n > next {
			return
		}
		rs.tx.Delete(k)
		f.Page++
		f.First += n
	}
}

// dropList drops what a runnable has left of its list.
func (rs *runnables) dropList(id events.RunnableID, r *runnable) {
	if r.Fanned == nil {
		return
	}
	for n := r.Fanned.Page; n < r.Fanned.Pages; n++ {
		rs.tx.Delete(elementsKey(rs.id, id, n))
	}
}

// take reads a list and gives it to the runnable; false: it is none.
func (i invocation) take(list any) bool {
	values, ok := list.([]any)
	if !ok {
		i.failAs(events.ErrorNotAList, "a list is needed, not "+kindOfValue(list), i.policy())
		return false
	}
	var text []byte
	ends := make([]int, len(values))
	for n, v := range values {
		var err error
		if text, err = i.t.account().Append(text, v); err != nil {
			i.fail(err)
			return false
		}
		ends[n] = len(text)
	}
	i.t.spend.holds(len(text))
	all, from := make([]events.Element, len(values)), 0
	for n, end := range ends {
		all[n].Value = text[from:end:end]
		from = end
	}
	id := i.fanOut()
	i.t.emit(&events.ListTaken{Runnable: id, Elements: all})
	return true
}

// kindOfValue says what a value is that is no list.
func kindOfValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}
