package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Change is one changed row of a Commit.
type Change struct {
	Key rows.Key
	Row rows.Row // nil: deleted

	// New promises that the store has no row at Key. It keeps rows that live
	// shorter than a checkpoint interval out of the changelog altogether.
	New bool

	size int // of the encoded key and row, set by Commit
}

// batchBytes is the room of a batch that is kept for the next one: what a
// partition changes in a second under load.
const batchBytes = 4 << 20

// Commit writes the changes of all records after the applied mark up to the
// given one, in one batch without a sync, and any more that the owner has (rows
// that it never reads through a Cache); no key comes twice. Each row is encoded
// here and only here. After an error the store must be closed and opened again.
func (s *Store) Commit(applied journal.Mark, changes []Change, more ...Change) error {
	if s.health.rotten.Load() {
		return errRotten
	}
	b := s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(batchBytes))
	defer b.Close()
	s.dirty.begin(s.metadata.Applied)
	for _, list := range [...][]Change{changes, more} {
		for i := range list {
			if err := s.write(b, &list[i]); err != nil {
				return err
			}
		}
	}
	if err := s.logDirty(b); err != nil {
		return err
	}
	if err := s.setApplied(b, applied); err != nil {
		return err
	}
	s.savedRows, s.savedBytes = int(b.Count()), b.Len()
	return s.apply(b, "writing a batch")
}

// Saved is how many rows and bytes the batch of the last Commit has, the store's own
// rows about itself included.
func (s *Store) Saved() (rows, bytes int) { return s.savedRows, s.savedBytes }

// logDirty ends what a batch makes dirty, and puts it into the dirty log.
func (s *Store) logDirty(b *pebble.Batch) error {
	entry := s.dirty.end()
	if entry == nil {
		return nil
	}
	if err := s.put(b, entry.key(), entry); err != nil {
		return err
	}
	s.dirty.wrote(entry, len(s.value))
	return nil
}

func (s *Store) write(b *pebble.Batch, c *Change) error {
	if c.Row == nil && c.New && s.dirty.live {
		return nil // born and died within the batch
	}
	if c.Row != nil {
		if err := s.put(b, c.Key, c.Row); err != nil {
			return err
		}
		s.dirty.add(c, s.value)
		c.size = len(s.key) + len(s.value)
		return nil
	}
	s.dirty.add(c, nil)
	s.key = c.Key.Append(s.key[:0])
	if err := b.Delete(s.key, nil); err != nil {
		return fmt.Errorf("deleting row %v: %w", c.Key, err)
	}
	c.size = len(s.key)
	return nil
}

// put adds a row to a batch, which copies it; s.key and s.value keep its bytes.
func (s *Store) put(b *pebble.Batch, k rows.Key, row rows.Row) error {
	s.key = k.Append(s.key[:0])
	s.value = wire.Append(s.value[:0], row)
	if err := b.Set(s.key, s.value, nil); err != nil {
		return fmt.Errorf("writing row %v: %w", k, err)
	}
	return nil
}

func (s *Store) apply(b *pebble.Batch, doing string) error {
	if err := b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
