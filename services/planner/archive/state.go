package archive

import (
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/rows"
)

// state are the rows of one run. The keys of a table are in order: a scan of rows.Memory sorts them each time, and runs have
// many. Each table has a list of its own, at whose end new rows mostly come.
type state struct {
	rows map[rows.Key]rows.Row
	keys map[rows.Table][]rows.Key
}

// Get implements rows.Source.
func (s *state) Get(k rows.Key, _ rows.Maker) rows.Row { return s.rows[k] }

// Scan implements rows.Source.
func (s *state) Scan(k rows.Key, _ rows.Maker, visit func(rows.Key, rows.Row) bool) {
	keys := s.keys[k.Table]
	from, _ := slices.BinarySearchFunc(keys, k, rows.Compare)
	for _, at := range keys[from:] {
		if !rows.Within(k, at) || !visit(at, s.rows[at]) {
			return
		}
	}
}

// Commit implements planner.State.
func (s *state) Commit(writes []rows.Write) {
	if s.rows == nil {
		s.rows, s.keys = map[rows.Key]rows.Row{}, map[rows.Table][]rows.Key{}
	}
	for _, w := range writes {
		_, there := s.rows[w.Key]
		switch {
		case w.Row != nil:
			s.rows[w.Key] = w.Row
			if !there {
				s.insert(w.Key)
			}
		case there:
			delete(s.rows, w.Key)
			keys := s.keys[w.Key.Table]
			at, _ := slices.BinarySearchFunc(keys, w.Key, rows.Compare)
			s.keys[w.Key.Table] = slices.Delete(keys, at, at+1)
		}
	}
}

func (s *state) insert(k rows.Key) {
	keys := s.keys[k.Table]
	at := len(keys)
	if at > 0 && rows.Compare(keys[at-1], k) > 0 {
		at, _ = slices.BinarySearchFunc(keys, k, rows.Compare)
	}
	s.keys[k.Table] = slices.Insert(keys, at, k)
}

// all are the keys of all rows, in order.
func (s *state) all(yield func(rows.Key, rows.Row) bool) {
	for _, t := range slices.Sorted(maps.Keys(s.keys)) {
		for _, k := range s.keys[t] {
			if !yield(k, s.rows[k]) {
				return
			}
		}
	}
}
