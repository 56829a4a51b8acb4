package store

import (
	"testing"

	"github.com/heddle-run/heddle/shared/rows"
)

// touched is a row that counts the looks at it.
type touched struct {
	payload
	looks uint64
}

func (r *touched) Touch() uint64 {
	r.looks++
	return r.looks
}

// What is expected is looked at where it is, and nothing else changes: rows
// still go in the order of their use, and nothing is read from the store.
func TestExpectingChangesNothingThatShows(t *testing.T) {
	c := NewCache(openBench(t), 1<<20)
	rowsOf := map[string]*touched{}
	var list [][]byte
	for i, w := range names(8) {
		rowsOf[w] = &touched{}
		c.Apply([]rows.Write{{Key: rows.Key{Table: rows.Header, Workflow: w}, Row: rowsOf[w], Created: true}}, uint64(i))
		list = append(list, []byte(w))
	}
	list = append(list, []byte("nobody"))
	before, oldest := c.Stats(), c.lru.oldest()
	if n := testing.AllocsPerRun(10, func() { c.Expect(list) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if c.Stats() != before || c.lru.oldest() != oldest {
		t.Errorf("expecting changed %+v to %+v", before, c.Stats())
	}
	for w, r := range rowsOf {
		if r.looks == 0 {
			t.Errorf("the row of %s was not looked at", w)
		}
	}
}
