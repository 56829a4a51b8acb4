package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// RedoLog is where the changelog has rows of one owner that do not fit into one
// transaction, before it has them at their keys: in chunks, at keys of their own
// that a marker names once all of them are there. From then on they count, over
// what is at the rows' keys; before, they count for nothing. A chunk that is missing
// has no row that is not at its key.
type RedoLog struct {
	Area   uint64 // no two that count share one
	Owner  string
	Chunks uint64 // numbered from 0
}

// Fields implements wire.Message.
func (l *RedoLog) Fields(c *wire.Codec) {
	wire.Int(c, 1, "area", &l.Area)
	wire.String(c, 2, "owner", &l.Owner)
	wire.Int(c, 3, "chunks", &l.Chunks)
}

// RedoKey is the key of a chunk in the changelog.
func RedoKey(area, chunk uint64) rows.Key { return rows.Key{Table: rows.Redo, A: area, B: chunk} }

// Chunk is some rows of a redo log.
type Chunk struct{ Rows []ChunkRow }

// ChunkRow is one row; dead ones are tombstones.
type ChunkRow struct {
	Key, Value []byte
	Dead       bool
}

// Fields implements wire.Message.
func (k *Chunk) Fields(c *wire.Codec) { wire.Repeated(c, 1, "rows", &k.Rows) }

// Fields implements wire.Message.
func (r *ChunkRow) Fields(c *wire.Codec) {
	c.Bytes(1, "key", &r.Key)
	c.Bytes(2, "value", &r.Value)
	c.Bool(3, "dead", &r.Dead)
}

// redo puts the rows of redo logs where they belong, and makes them dirty: the
// changelog does not have them there. What it has of other logs is dropped.
func (s *Store) redo(logs []RedoLog, since journal.Mark) error {
	for _, l := range logs {
		for n := range l.Chunks {
			if err := s.redoChunk(l.Owner, RedoKey(l.Area, n), since); err != nil {
				return fmt.Errorf("applying chunk %d of the redo log of %q: %w", n, l.Owner, err)
			}
		}
	}
	end := []byte{byte(rows.Redo) + 1}
	if err := s.db.DeleteRange([]byte{byte(rows.Redo)}, end, pebble.NoSync); err != nil {
		return fmt.Errorf("dropping the redo logs: %w", err)
	}
	return nil
}

func (s *Store) redoChunk(owner string, at rows.Key, since journal.Mark) error {
	value, err := s.raw(at)
	if err != nil || value == nil {
		return err
	}
	chunk := &Chunk{}
	if err := wire.Unmarshal(value, chunk); err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	d := s.dirty
	d.begin(since)
	for i := range chunk.Rows {
		row := &chunk.Rows[i]
		if err := s.redoRow(b, owner, row); err != nil {
			return err
		}
	}
	if err := s.logDirty(b); err != nil {
		return err
	}
	return s.apply(b, "writing a chunk")
}

func (s *Store) redoRow(b *pebble.Batch, owner string, row *ChunkRow) error {
	k, err := rows.ParseKey(row.Key)
	switch {
	case err != nil:
		return err
	case local(k.Table) || k.Owner() != owner:
		return fmt.Errorf("key %x is not one of its rows", row.Key)
	}
	if row.Dead {
		s.dirty.note(died, k, nil)
		return b.Delete(row.Key, nil)
	}
	s.dirty.note(changed, k, row.Value)
	return b.Set(row.Key, row.Value, nil)
}
