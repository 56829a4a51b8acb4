package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Marks are what a store knows about itself (O4).
type Marks struct {
	// Cluster and Topic are the Kafka cluster id and the id of the journal
	// topic that the store was made from.
	Cluster string
	Topic   [16]byte

	// Complete is written last after a restore. A store without it holds only
	// a part of the changelog.
	Complete bool

	// Guard: partition keys already hold the records up to here, and replay
	// must not change them before. A changelog is restored with workflow rows
	// that are older than its partition rows (C1), so after a restore Applied is
	// replay-from and Guard is the marker's applied mark.
	Guard journal.Mark

	// Checkpoint is the mark of the last applied record of the last checkpoint
	// that is known to be committed.
	Checkpoint journal.Mark

	// Applied is the last record whose changes are in the store. It is part of
	// every Commit.
	Applied journal.Mark

	// Extra is whatever else the owner keeps with these.
	Extra []byte
}

// Fields implements wire.Message. Applied is a row of its own.
func (m *Marks) Fields(c *wire.Codec) {
	topic := m.Topic[:]
	wire.String(c, 1, "cluster", &m.Cluster)
	c.Bytes(2, "topic", &topic)
	c.Bool(3, "complete", &m.Complete)
	wire.Nested(c, 4, "guard", &m.Guard)
	wire.Nested(c, 5, "checkpoint", &m.Checkpoint)
	c.Bytes(6, "extra", &m.Extra)
	if c.Decoding() {
		copy(m.Topic[:], topic)
	}
}

// Rows of the Mark table.
var (
	marksKey   = rows.Key{Table: rows.Mark, A: 1}
	appliedKey = rows.Key{Table: rows.Mark, A: 2}
	formatKey  = rows.Key{Table: rows.Mark, A: 3}
)

// Marks are the store's marks as they are now.
func (s *Store) Marks() Marks { return s.marks }

// SetMarks replaces the marks, Applied included. Like a Commit they survive a
// crash only once they are flushed, and never before what was written earlier.
func (s *Store) SetMarks(m Marks) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := s.setMarks(b, m); err != nil {
		return err
	}
	if err := s.setApplied(b, m.Applied); err != nil {
		return err
	}
	return s.apply(b, "writing marks")
}

func (s *Store) setMarks(b *pebble.Batch, m Marks) error {
	applied := s.marks.Applied
	s.marks = m
	s.marks.Applied = applied
	return s.put(b, marksKey, &m)
}

func (s *Store) setApplied(b *pebble.Batch, m journal.Mark) error {
	s.marks.Applied = m
	return s.put(b, appliedKey, &m)
}

func (s *Store) loadMarks() error {
	var m Marks
	if _, err := s.Get(marksKey, &m); err != nil {
		return fmt.Errorf("reading marks: %w", err)
	}
	if _, err := s.Get(appliedKey, &m.Applied); err != nil {
		return fmt.Errorf("reading the applied mark: %w", err)
	}
	s.marks = m
	return nil
}
