package rows

import (
	"cmp"
	"slices"
	"strings"
)

// Compare orders keys as their encodings order.
func Compare(a, b Key) int {
	if c := cmp.Compare(a.Table, b.Table); c != 0 {
		return c
	}
	w, n := strings.Compare(a.Workflow, b.Workflow), cmp.Compare(a.A, b.A)
	if timeFirst(a.Table) {
		return cmp.Or(n, w, cmp.Compare(a.B, b.B), cmp.Compare(a.C, b.C), strings.Compare(a.Sub, b.Sub))
	}
	return cmp.Or(w, n, cmp.Compare(a.B, b.B), cmp.Compare(a.C, b.C), strings.Compare(a.Sub, b.Sub))
}

// Within reports whether at belongs to what a scan from k visits.
func Within(k, at Key) bool {
	return at.Table == k.Table && (timeFirst(k.Table) || at.Workflow == k.Workflow)
}

// sorted returns the Tx's own changes within a scan from k, in key order.
func (tx *Tx) sorted(k Key) []Write {
	var own []Write
	for _, w := range tx.writes {
		if Within(k, w.Key) && Compare(w.Key, k) >= 0 {
			own = append(own, w)
		}
	}
	slices.SortFunc(own, func(a, b Write) int { return Compare(a.Key, b.Key) })
	return own
}

// Memory is a Source in memory. The zero value is empty and ready.
type Memory struct {
	rows map[Key]Row
}

// Get implements Source.
func (m *Memory) Get(k Key, _ Maker) Row { return m.rows[k] }

// Scan implements Source.
func (m *Memory) Scan(k Key, _ Maker, visit func(Key, Row) bool) {
	var keys []Key
	for at := range m.rows { // order: sorted below
		if Within(k, at) && Compare(at, k) >= 0 {
			keys = append(keys, at)
		}
	}
	slices.SortFunc(keys, Compare)
	for _, at := range keys {
		if !visit(at, m.rows[at]) {
			return
		}
	}
}

// Commit applies the changes of a Tx.
func (m *Memory) Commit(writes []Write) {
	if m.rows == nil {
		m.rows = map[Key]Row{}
	}
	for _, w := range writes {
		if w.Row == nil {
			delete(m.rows, w.Key)
		} else {
			m.rows[w.Key] = w.Row
		}
	}
}

// Keys are all keys in order.
func (m *Memory) Keys() []Key {
	keys := make([]Key, 0, len(m.rows))
	for k := range m.rows { // order: sorted below
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Compare)
	return keys
}
