package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Metadata is what a store knows about itself.
type Metadata struct {
	// Cluster and Topic are the Kafka cluster id and the id of the journal
	// topic that the store was made from.
	Cluster string
	Topic   [16]byte

	// Complete is written last after a restore. A store without it holds only
	// a part of the changelog.
	Complete bool

	// Guard: partition keys already hold the records up to here, and replay
	// must not change them before. A changelog is restored with workflow rows
	// that are older than its partition rows, so after a restore Applied is
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
func (m *Metadata) Fields(c *wire.Codec) {
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

// Rows of the metadata table.
var (
	metadataKey = rows.Key{Table: rows.Metadata, A: 1}
	appliedKey  = rows.Key{Table: rows.Metadata, A: 2}
	formatKey   = rows.Key{Table: rows.Metadata, A: 3}
)

// Metadata is the store's metadata as it is now.
func (s *Store) Metadata() Metadata { return s.metadata }

// SetMetadata replaces the metadata, Applied included. Like a Commit it survives a
// crash only once it is flushed, and never before what was written earlier.
func (s *Store) SetMetadata(m Metadata) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := s.setMetadata(b, m); err != nil {
		return err
	}
	if err := s.setApplied(b, m.Applied); err != nil {
		return err
	}
	return s.apply(b, "writing metadata")
}

func (s *Store) setMetadata(b *pebble.Batch, m Metadata) error {
	applied := s.metadata.Applied
	s.metadata = m
	s.metadata.Applied = applied
	return s.put(b, metadataKey, &m)
}

func (s *Store) setApplied(b *pebble.Batch, m journal.Mark) error {
	s.metadata.Applied = m
	return s.put(b, appliedKey, &m)
}

func (s *Store) loadMetadata() error {
	var m Metadata
	if _, err := s.Get(metadataKey, &m); err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	if _, err := s.Get(appliedKey, &m.Applied); err != nil {
		return fmt.Errorf("reading the applied mark: %w", err)
	}
	s.metadata = m
	return nil
}
