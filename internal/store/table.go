package store

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/heddle-run/heddle/shared/rows"
)

// entry is one row in memory, or the knowledge that there is none.
type entry struct {
	key    rows.Key
	row    rows.Row // nil: there is none
	group  *group
	size   int32 // estimated bytes
	pins   int32 // changes that are not in the store
	slot   int32 // 1 + place in the cache's batch, while that is gathered
	stored stored
	used   bool // since the last sweep
}

// stored is what is known of the store's row at a key.
type stored uint8

const (
	unknown stored = iota
	absent
	present
)

// table is what the cache has of one table of a group: entries in key order.
type table struct {
	chunks  [][]*entry // none of them empty, but perhaps the only one
	span    span
	last    *entry // found or added last, if it is still here
	version uint64 // counts changes of chunks
	front   bool   // rows are taken from the front: keep that in memory
}

// chunkSize bounds what an insertion has to move.
const chunkSize = 128

// compare orders keys of one table of one group, as rows.Compare does.
func compare(a, b *rows.Key) int {
	if a.A != b.A {
		return cmp.Compare(a.A, b.A)
	}
	if a.Workflow != b.Workflow { // in tables ordered by time only
		return strings.Compare(a.Workflow, b.Workflow)
	}
	if a.B != b.B {
		return cmp.Compare(a.B, b.B)
	}
	if a.C != b.C {
		return cmp.Compare(a.C, b.C)
	}
	return strings.Compare(a.Sub, b.Sub)
}

// seek is the place of the first entry that is not before k; behind the last
// chunk's last entry if there is none.
func (t *table) seek(k *rows.Key) (chunk, i int) {
	if len(t.chunks) > 1 {
		chunk = sort.Search(len(t.chunks)-1, func(n int) bool {
			c := t.chunks[n]
			return compare(&c[len(c)-1].key, k) >= 0
		})
	}
	if chunk < len(t.chunks) {
		lo, hi, c := 0, len(t.chunks[chunk]), t.chunks[chunk]
		for lo < hi {
			mid := (lo + hi) / 2
			if compare(&c[mid].key, k) < 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		i = lo
	}
	return chunk, i
}

// place is where an entry of the table is. In a small table no key is looked at.
func (t *table) place(e *entry) (chunk, i int) {
	if len(t.chunks) == 1 {
		return 0, slices.Index(t.chunks[0], e)
	}
	return t.seek(&e.key)
}

// at is the entry at a place, or nil behind the last.
func (t *table) at(chunk, i int) *entry {
	if chunk < len(t.chunks) && i < len(t.chunks[chunk]) {
		return t.chunks[chunk][i]
	}
	return nil
}

// get is the entry of a key, or nil. Most look for the one that was found last,
// for the newest one, or for one that would be behind it.
func (t *table) get(k *rows.Key) *entry {
	if t.last != nil && compare(&t.last.key, k) == 0 {
		return t.last
	}
	e := t.find(k)
	if e != nil {
		t.last = e
	}
	return e
}

func (t *table) find(k *rows.Key) *entry {
	if n := len(t.chunks); n > 0 && len(t.chunks[n-1]) > 0 {
		last := t.chunks[n-1][len(t.chunks[n-1])-1]
		if c := compare(&last.key, k); c < 0 {
			return nil
		} else if c == 0 {
			return last
		}
	}
	chunk, i := t.seek(k)
	if e := t.at(chunk, i); e != nil && compare(&e.key, k) == 0 {
		return e
	}
	return nil
}

// add inserts an entry whose key has none.
func (t *table) add(e *entry) {
	t.version++
	t.last = e
	if len(t.chunks) == 0 {
		t.chunks = [][]*entry{append(make([]*entry, 0, 4), e)}
		return
	}
	if t.push(e) {
		return
	}
	chunk, i := t.seek(&e.key)
	c := slices.Insert(t.chunks[chunk], i, e)
	t.chunks[chunk] = c
	if len(c) > chunkSize {
		half := len(c) / 2
		if i == chunkSize { // ascending keys: leave full chunks behind
			half = chunkSize
		}
		right := append(make([]*entry, 0, chunkSize+1), c[half:]...)
		clear(c[half:])
		t.chunks[chunk] = c[:half]
		t.chunks = slices.Insert(t.chunks, chunk+1, right)
	}
}

// push adds an entry behind the last one, if that is its place and there is
// room: most rows are made in the order of their keys.
func (t *table) push(e *entry) bool {
	chunk := &t.chunks[len(t.chunks)-1]
	n := len(*chunk)
	if n > 0 && n < chunkSize && compare(&(*chunk)[n-1].key, &e.key) < 0 {
		*chunk = append(*chunk, e)
		return true
	}
	return false
}

// remove takes out an entry that is in the table.
func (t *table) remove(e *entry) {
	t.version++
	t.last = nil
	chunk, i := t.place(e)
	t.chunks[chunk] = slices.Delete(t.chunks[chunk], i, i+1)
	if len(t.chunks[chunk]) == 0 && len(t.chunks) > 1 {
		t.chunks = slices.Delete(t.chunks, chunk, chunk+1)
	}
}

// span is the range of keys of which every row that the store has is in memory:
// from lo (inclusive) to hi (exclusive).
type span struct {
	some   bool      // false: of no key
	lo, hi *rows.Key // nil: to the table's own end
}

func (s *span) all() { *s = span{some: true} }

// covers reports whether a key that is not in memory is not in the store either.
func (s *span) covers(k *rows.Key) bool {
	return s.some && (s.lo == nil || compare(s.lo, k) <= 0) && (s.hi == nil || compare(k, s.hi) < 0)
}

// reaches reports whether a scan from k runs through the span: k is covered, or is
// just behind it.
func (s *span) reaches(k *rows.Key) bool {
	return s.some && (s.lo == nil || compare(s.lo, k) <= 0) && (s.hi == nil || compare(k, s.hi) <= 0)
}

// learn adds that everything from one key to another (nil: the end) is in
// memory. Of two ranges that do not touch it keeps the one at the end that the
// table grows at, or is consumed from.
func (s *span) learn(from, to rows.Key, ended, front bool) {
	lo, hi := &from, &to
	if ended {
		hi = nil
	}
	switch {
	case s.reaches(lo):
		lo, hi = s.lo, later(hi, s.hi)
	case s.some && s.lo != nil && compare(lo, s.lo) < 0 && (hi == nil || compare(s.lo, hi) <= 0):
		hi = later(hi, s.hi)
	case s.some && s.hi == nil && !front:
		return
	}
	*s = span{some: true, lo: lo, hi: hi}
}

// later is the later of two upper bounds.
func later(a, b *rows.Key) *rows.Key {
	if a == nil || b != nil && compare(a, b) >= 0 {
		return a
	}
	return b
}

// forgetTo takes a key and what is before it out of the span.
func (s *span) forgetTo(k rows.Key) {
	next := successor(k)
	s.lo = &next
}

// forgetFrom takes a key and what is behind it out of the span.
func (s *span) forgetFrom(k *rows.Key) {
	if s.covers(k) {
		own := *k
		s.hi = &own
	}
}

// successor is the next possible key.
func successor(k rows.Key) rows.Key {
	k.Sub += "\x00"
	return k
}
