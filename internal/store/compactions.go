package store

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// compactions limits the compactions that run at once in all stores of a
// process. Unlike Pebble's own scheduler, which polls ten times a second and
// store, it acts only when a store asks and when a compaction ends: idle stores
// cost nothing.
type compactions struct {
	mu       sync.Mutex
	idle     sync.Cond // signalled when granting ends
	limit    int
	running  int
	granting bool // one goroutine at a time calls into the databases
	again    bool // something changed while it was granting
	members  []*compactor
}

func newCompactions(limit int) *compactions {
	c := &compactions{limit: limit}
	c.idle.L = &c.mu
	return c
}

// join makes the scheduler of one more database, which gets no right any more
// once it is rotten: Pebble tries a compaction that fails again at once, for ever.
func (c *compactions) join(rotten *atomic.Bool) pebble.CompactionScheduler {
	return &compactor{all: c, rotten: rotten}
}

// compactor is a database's part of compactions, and the handle of each of its
// compactions. Pebble calls TrySchedule with the database's lock held, so no
// method calls into a database while holding ours.
type compactor struct {
	all     *compactions
	db      pebble.DBForCompaction
	rotten  *atomic.Bool
	running int
	left    bool
}

// Register implements pebble.CompactionScheduler.
func (m *compactor) Register(_ int, db pebble.DBForCompaction) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.db = db
	m.all.members = append(m.all.members, m)
}

// Unregister implements pebble.CompactionScheduler.
func (m *compactor) Unregister() {
	c := m.all
	c.mu.Lock()
	defer c.mu.Unlock()
	m.left = true
	for c.granting {
		c.idle.Wait()
	}
	for i, other := range c.members {
		if other == m {
			c.members = append(c.members[:i:i], c.members[i+1:]...)
			return
		}
	}
}

// TrySchedule implements pebble.CompactionScheduler. A database that is refused
// waits for a grant.
func (m *compactor) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	if !m.take() {
		return false, nil
	}
	return true, m
}

// take reserves the right to run one compaction; the lock is held.
func (m *compactor) take() bool {
	if m.left || m.rotten.Load() || m.all.running >= m.all.limit || m.running >= m.db.GetAllowedWithoutPermission() {
		return false
	}
	m.all.running++
	m.running++
	return true
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (m *compactor) UpdateGetAllowedWithoutPermission() {}

// Started implements pebble.CompactionGrantHandle.
func (m *compactor) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (m *compactor) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (m *compactor) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle: the right goes to one that waits.
func (m *compactor) Done() {
	c := m.all
	c.mu.Lock()
	defer c.mu.Unlock()
	m.release()
	if c.granting {
		c.again = true
		return
	}
	c.granting = true
	for c.again = true; c.again; {
		c.again = false
		for _, member := range c.members {
			c.grant(member)
		}
	}
	c.granting = false
	c.idle.Broadcast()
}

func (m *compactor) release() {
	m.running--
	m.all.running--
}

// grant lets one waiting compaction of a member run. The lock is held, but not
// while calling the database.
func (c *compactions) grant(m *compactor) {
	if m.left || c.running >= c.limit {
		return
	}
	c.mu.Unlock()
	waiting, _ := m.db.GetWaitingCompaction()
	c.mu.Lock()
	if !waiting || !m.take() {
		return
	}
	c.mu.Unlock()
	accepted := m.db.Schedule(m)
	c.mu.Lock()
	if !accepted {
		m.release()
		c.again = true // another one may have been refused meanwhile
	}
}
