package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// A visitor that panics meets a defect, which is contained: it leaves no iterator open,
// so that the store can be closed.
func TestAScanWhoseVisitorPanicsLeavesNothingOpen(t *testing.T) {
	for name, scan := range map[string]func(s *Store){
		"of the store": func(s *Store) {
			_ = s.ScanTable(rows.Header, func(rows.Key, []byte) bool { panic("a defect") })
		},
		"of the cache": func(s *Store) {
			NewCache(s, 1<<20).Scan(rows.Key{Table: rows.Header, Workflow: "w"}, newText, func(rows.Key, rows.Row) bool { panic("a defect") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, vfs.NewMem())
			if err := s.Commit(mark(1), []Change{{Key: rows.Key{Table: rows.Header, Workflow: "w"}, Row: &text{"x"}, New: true}}); err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the visitor did not panic")
					}
				}()
				scan(s)
			}()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
