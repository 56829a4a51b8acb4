package archive

import (
	"slices"

	"github.com/heddle-run/heddle/shared/rows"
)

// state are the rows of one run, in the order of their keys: a scan of rows.Memory sorts them each time, and runs have
// many.
type state struct {
	rows map[rows.Key]rows.Row
	keys []rows.Key // sorted
}

// Get implements rows.Source.
func (s *state) Get(k rows.Key, _ rows.Maker) rows.Row { return s.rows[k] }

// Scan implements rows.Source.
func (s *state) Scan(k rows.Key, _ rows.Maker, visit func(rows.Key, rows.Row) bool) {
	from, _ := slices.BinarySearchFunc(s.keys, k, rows.Compare)
	for _, at := range s.keys[from:] {
		if !rows.Within(k, at) || !visit(at, s.rows[at]) {
			return
		}
	}
}

// Commit implements planner.State.
func (s *state) Commit(writes []rows.Write) {
	if s.rows == nil {
		s.rows = map[rows.Key]rows.Row{}
	}
	for _, w := range writes {
		at, there := slices.BinarySearchFunc(s.keys, w.Key, rows.Compare)
		switch {
		case w.Row == nil && there:
			s.keys = slices.Delete(s.keys, at, at+1)
			delete(s.rows, w.Key)
		case w.Row != nil:
			s.rows[w.Key] = w.Row
			if !there {
				s.keys = slices.Insert(s.keys, at, w.Key)
			}
		}
	}
}
