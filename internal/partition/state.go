package partition

import (
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/rows"
)

// storeState is loop.State over a store and its cache.
type storeState struct {
	*store.Cache
	store *store.Store
	stats *loop.Stats
	more  []store.Change
}

func newStoreState(s *store.Store, hot *store.Budget, stats *loop.Stats) *storeState {
	return &storeState{Cache: store.NewCacheWithin(hot, s), store: s, stats: stats}
}

// Commit implements loop.State.
func (s *storeState) Commit(n uint64, at journal.Mark, more []rows.Write) error {
	s.more = s.more[:0]
	for _, w := range more {
		s.more = append(s.more, store.Change{Key: w.Key, Row: w.Row, New: w.Created})
	}
	began := time.Now()
	if err := s.store.Commit(at, s.Unwritten(n), s.more...); err != nil {
		return err
	}
	s.stats.Saves.Add(1)
	rows, bytes := s.store.Saved()
	s.stats.SaveRows.Add(uint64(rows))
	s.stats.SaveBytes.Add(uint64(bytes))
	s.stats.SaveNanos.Add(uint64(time.Since(began)))
	s.Written(n)
	clear(s.more)
	return nil
}

// Dirty implements loop.State.
func (s *storeState) Dirty() int {
	_, bytes := s.store.Dirty()
	return bytes
}

// storedWorkflows are those of a store.
type storedWorkflows struct{ store *store.Store }

// After implements loop.Workflows.
func (s storedWorkflows) After(name string, most int) ([]string, error) {
	var names []string
	err := s.store.ScanTableFrom(rows.Key{Table: rows.Header, Workflow: name}, func(k rows.Key, _ []byte) bool {
		if k.Workflow != name && (len(names) == 0 || names[len(names)-1] != k.Workflow) {
			names = append(names, k.Workflow)
		}
		return len(names) < most
	})
	return names, err
}
