package feed

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// Mailbox collects what arrives for an owner until its next step. Anybody may
// put; one goroutine takes. What it holds is bounded: acknowledgements by what
// is in flight, inputs by pausing their partitions.
type Mailbox struct {
	mu     sync.Mutex
	batch  loop.Batch
	wake   chan struct{} // one token: there is something
	flow   Flow
	held   [loop.Logs]int // records and bytes of inputs not decided yet
	bytes  [loop.Logs]int
	paused [loop.Logs]bool // their log: too many wait
	faulty [loop.Logs]bool // it cannot be read

	mostRecords, mostBytes int
}

// Flow stops and restarts the fetching of one input log.
type Flow interface {
	Pause(events.Source)
	Resume(events.Source)
}

// NewMailbox is an empty one with the bounds of the settings.
func NewMailbox(f Flow, s *loop.Settings) *Mailbox {
	return &Mailbox{wake: make(chan struct{}, 1), flow: f, mostRecords: s.QueueRecords, mostBytes: s.QueueBytes}
}

// Wake has a token while there is something to take.
func (m *Mailbox) Wake() <-chan struct{} { return m.wake }

func (m *Mailbox) ring() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Take moves what has arrived into b, which must be empty; its slices are
// reused for what arrives next.
func (m *Mailbox) Take(b *loop.Batch) {
	m.mu.Lock()
	*b, m.batch = m.batch, *b
	m.mu.Unlock()
}

// Appended adds what became of a record of the journal.
func (m *Mailbox) Appended(a loop.Appended) {
	m.mu.Lock()
	m.batch.Appended = append(m.batch.Appended, a)
	m.mu.Unlock()
	m.ring()
}

// Produced adds what became of an effect.
func (m *Mailbox) Produced(r loop.Produced) {
	m.mu.Lock()
	m.batch.Produced = append(m.batch.Produced, r)
	m.mu.Unlock()
	m.ring()
}

// Do runs f in the owner's goroutine, in its next step.
func (m *Mailbox) Do(f func(*loop.Processor)) {
	m.mu.Lock()
	m.batch.Commands = append(m.batch.Commands, f)
	m.mu.Unlock()
	m.ring()
}

// Put adds what f adds.
func (m *Mailbox) Put(f func(*loop.Batch)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.batch)
	m.ring()
}

// Query adds a question. Above the bound of those that wait it is dropped, as by an
// owner that is behind: the one that this is for may hang.
func (m *Mailbox) Query(q *events.Query) {
	m.Put(func(b *loop.Batch) {
		if len(b.Queries) < loop.QueryLimit {
			b.Queries = append(b.Queries, q)
		}
	})
}

// Inputs adds fetched records and pauses their log when too many wait.
func (m *Mailbox) Inputs(s events.Source, records []*kgo.Record) {
	bytes := 0
	for _, r := range records {
		bytes += len(r.Key) + len(r.Value)
	}
	m.mu.Lock()
	defer m.mu.Unlock() // the client may meet a defect when it is paused
	m.batch.Inputs[s] = append(m.batch.Inputs[s], records...)
	m.held[s] += len(records)
	m.bytes[s] += bytes
	if !m.paused[s] && (m.held[s] >= m.mostRecords || m.bytes[s] >= m.mostBytes) {
		m.paused[s] = true
		m.flow.Pause(s)
	}
	m.ring()
}

// Took says that inputs were decided, and lets their log flow again once half
// of the room is free.
func (m *Mailbox) Took(s events.Source, records, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[s] -= records
	m.bytes[s] -= bytes
	if m.paused[s] && m.held[s] <= m.mostRecords/2 && m.bytes[s] <= m.mostBytes/2 {
		m.paused[s] = false
		if !m.faulty[s] {
			m.flow.Resume(s)
		}
	}
}

// Hold stops and restarts the fetching of a log that cannot be read for now,
// whatever else stops it.
func (m *Mailbox) Hold(s events.Source, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.faulty[s] = held; {
	case held:
		m.flow.Pause(s)
	case !m.paused[s]:
		m.flow.Resume(s)
	}
}
