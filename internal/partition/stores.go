package partition

import (
	"cmp"
	"slices"
	"sync"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/internal/store"
)

// stores are the open stores of a process, with what is known of the logs beside them, for
// those who measure.
type stores struct {
	mu  sync.Mutex
	all []*measured
}

// measured is one store.
type measured struct {
	partition int32
	store     *store.Store

	journalStart, journalEnd, replayFrom int64 // offsets as of the last checkpoint

	pools map[string]runtime.PoolBacklog // likewise; nobody changes it
}

// StoreFigures are the figures of the store of one partition, and of its journal as of the
// last checkpoint.
type StoreFigures struct {
	Partition int32
	Store     store.Metrics
	Journal   int64 // records that the journal keeps
	Replay    int64 // of them, those that a recovery on another machine would read

	Pools map[string]runtime.PoolBacklog // of runners, as of the last checkpoint; for reading only
}

// Stores are the figures of the stores that are open, by partition. A store is not closed
// meanwhile.
func (h *Host) Stores() []StoreFigures {
	h.stores.mu.Lock()
	defer h.stores.mu.Unlock()
	out := make([]StoreFigures, 0, len(h.stores.all))
	for _, m := range h.stores.all {
		out = append(out, StoreFigures{
			Partition: m.partition, Store: m.store.Metrics(),
			Journal: max(0, m.journalEnd-m.journalStart), Replay: max(0, m.journalEnd-m.replayFrom),
			Pools: m.pools,
		})
	}
	slices.SortFunc(out, func(a, b StoreFigures) int { return cmp.Compare(a.Partition, b.Partition) })
	return out
}

func (s *stores) add(p int32, of *store.Store, journalStart int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := max(journalStart, of.Metadata().Applied.Offset)
	s.all = append(s.all, &measured{partition: p, store: of, journalStart: journalStart, journalEnd: end, replayFrom: end})
}

// remove waits for those who look at the store, which is closed then.
func (s *stores) remove(of *store.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(m *measured) bool { return m.store == of })
}

// checkpointed notes a checkpoint: how far the journal reaches, and from where it is replayed.
func (s *stores) checkpointed(of *store.Store, journalEnd, replayFrom int64) {
	s.change(of, func(m *measured) { m.journalEnd, m.replayFrom = journalEnd+1, replayFrom+1 })
}

// trimmed notes where the journal begins.
func (s *stores) trimmed(of *store.Store, journalStart int64) {
	s.change(of, func(m *measured) { m.journalStart = journalStart })
}

// counted notes what pools of runners are at.
func (s *stores) counted(of *store.Store, pools map[string]runtime.PoolBacklog) {
	s.change(of, func(m *measured) { m.pools = pools })
}

func (s *stores) change(of *store.Store, f func(*measured)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.all {
		if m.store == of {
			f(m)
		}
	}
}
