package store

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Store holds the rows of one partition.
type Store struct {
	db    *pebble.DB
	opts  Options
	own   *Shared // made here, closed here
	marks Marks
	dirty *dirtySet

	key, value []byte // reused by every write
}

// Open opens the store in a directory, making it when there is none, and
// rebuilds its dirty set. A store that cannot be opened is worth nothing: Wipe
// it and restore.
func Open(o Options) (*Store, error) {
	s := &Store{dirty: newDirtySet()}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = defaultMemTable
	}
	if o.Shared == nil {
		s.own = newShared(8<<20, openFiles)
		o.Shared = s.own
	}
	s.opts = o
	db, err := pebble.Open(o.Dir, o.pebble())
	if err != nil {
		s.closeOwn()
		return nil, fmt.Errorf("opening the store in %s: %w", o.Dir, err)
	}
	s.db = db
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %s: %w", o.Dir, err), s.db.Close())
	}
	return s, nil
}

func (s *Store) load() error {
	if err := s.loadMarks(); err != nil {
		return err
	}
	return s.loadDirty()
}

// Wipe discards the store in a directory. It must not be open.
func Wipe(fs vfs.FS, dir string) error {
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("discarding the store in %s: %w", dir, err)
	}
	return nil
}

// Get reads the row at k into a zero row and says whether there is one.
func (s *Store) Get(k rows.Key, into rows.Row) (bool, error) {
	value, err := s.raw(k)
	if err != nil || value == nil {
		return false, err
	}
	return true, s.decode(k, value, into)
}

// raw is the encoded row at k, the caller's own, or nil.
func (s *Store) raw(k rows.Key) ([]byte, error) {
	s.key = k.Append(s.key[:0])
	value, closer, err := s.db.Get(s.key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading row %v: %w", k, err)
	}
	own := append(make([]byte, 0, len(value)), value...)
	return own, closer.Close()
}

func (s *Store) decode(k rows.Key, value []byte, into rows.Row) error {
	if err := wire.Unmarshal(value, into); err != nil {
		return fmt.Errorf("decoding row %v: %w", k, err)
	}
	return nil
}

// Scan visits, in key order, the rows of from's table and workflow from it on,
// until visit returns false; for tables ordered by time it visits from there on
// regardless of the workflow. A value is valid during its visit only.
func (s *Store) Scan(from rows.Key, visit func(k rows.Key, value []byte) bool) error {
	it, err := s.iterate(from)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		k, err := rows.ParseKey(it.Key())
		if err != nil {
			return errors.Join(fmt.Errorf("scanning from %v: %w", from, err), it.Close())
		}
		if !visit(k, it.Value()) {
			break
		}
	}
	return closeIterator(it, from)
}

// iterate bounds an iterator to what a scan from a key visits.
func (s *Store) iterate(from rows.Key) (*pebble.Iterator, error) {
	lower := from.Append(nil)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: scanEnd(from)})
	if err != nil {
		return nil, fmt.Errorf("scanning from %v: %w", from, err)
	}
	return it, nil
}

// scanEnd is the first key behind the rows that a scan from k may visit.
func scanEnd(k rows.Key) []byte {
	if timeFirst(k.Table) {
		return []byte{byte(k.Table) + 1}
	}
	end := rows.Prefix(k.Table, k.Workflow)
	end[len(end)-1]++ // a name ends in a zero byte
	return end
}

func closeIterator(it *pebble.Iterator, from rows.Key) error {
	if err := it.Close(); err != nil {
		return fmt.Errorf("scanning from %v: %w", from, err)
	}
	return nil
}

// Change is one changed row of a Commit.
type Change struct {
	Key rows.Key
	Row rows.Row // nil: deleted

	// New promises that the store has no row at Key. It keeps rows that live
	// shorter than a checkpoint interval out of the changelog altogether.
	New bool

	size int // of the encoded key and row, set by Commit
}

// Commit writes the changes of all records after the applied mark up to the
// given one, in one batch without a sync, and any more that the owner has (rows
// that it never reads through a Cache); no key comes twice. Each row is encoded
// here and only here. After an error the store must be closed and opened again.
func (s *Store) Commit(applied journal.Mark, changes []Change, more ...Change) error {
	b := s.db.NewBatch()
	defer b.Close()
	s.dirty.begin(s.marks.Applied)
	for _, list := range [...][]Change{changes, more} {
		for i := range list {
			if err := s.write(b, &list[i]); err != nil {
				return err
			}
		}
	}
	if entry := s.dirty.end(); entry != nil {
		if err := s.put(b, entry.key(), entry); err != nil {
			return err
		}
		s.dirty.wrote(entry, len(s.value))
	}
	if err := s.setApplied(b, applied); err != nil {
		return err
	}
	return s.apply(b, "writing a batch")
}

func (s *Store) write(b *pebble.Batch, c *Change) error {
	if c.Row == nil && c.New && s.dirty.live {
		return nil // born and died within the batch
	}
	s.dirty.add(c)
	if c.Row != nil {
		if err := s.put(b, c.Key, c.Row); err != nil {
			return err
		}
		c.size = len(s.key) + len(s.value)
		return nil
	}
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

// Flush makes what is written so far durable, in the background, so that a
// killed process has little to replay. It costs one small table: call it every
// so many seconds at most.
func (s *Store) Flush() error {
	if _, err := s.db.AsyncFlush(); err != nil {
		return fmt.Errorf("flushing the store: %w", err)
	}
	return nil
}

// Close flushes and closes the store.
func (s *Store) Close() error {
	err := errors.Join(s.db.Flush(), s.db.Close())
	s.closeOwn()
	if err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

func (s *Store) closeOwn() {
	if s.own != nil {
		s.own.Close()
		s.own = nil
	}
}
