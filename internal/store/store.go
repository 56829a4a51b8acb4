package store

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store holds the rows of one partition.
type Store struct {
	db       *pebble.DB
	opts     Options
	own      *Shared // made here, closed here
	metadata Metadata
	dirty    *dirtySet

	health *Health

	key, value []byte // reused by every write
	savedRows  int    // of the last batch
	savedBytes int
}

// Open opens the store in a directory, making it when there is none, and
// rebuilds its dirty set. A store that cannot be opened is worth nothing, unless
// the disk is full (IsFull): Wipe it and restore.
func Open(o Options) (*Store, error) {
	s := &Store{dirty: newDirtySet()}
	o.FS = o.fs()
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
	p := o.pebble()
	s.health = Watch(p, o.Logger, o.Shared, s.broke)
	var err error
	if s.db, err = OpenDB(o.Dir, p); err != nil {
		s.closeOwn()
		return nil, fmt.Errorf("opening the store in %s: %w", o.Dir, err)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store in %s: %w", o.Dir, err), s.shut())
	}
	return s, nil
}

func (s *Store) load() error {
	if err := s.checkFormat(); err != nil {
		return err
	}
	if err := s.loadMetadata(); err != nil {
		return err
	}
	return s.loadDirty()
}

// broke gives the store up; it can be made again.
func (s *Store) broke(err error) {
	err = fmt.Errorf("the store in %s: %w", s.opts.Dir, err) // which is logged without the stack of Pebble's error
	s.opts.Logger.Error("the store is given up", "error", err)
	if s.opts.Broken != nil {
		s.opts.Broken(err)
	}
}

// errRotten is what a corrupt store answers, so that its owner gives it up.
var errRotten = errors.New("the store is broken")

// Wipe discards the store in a directory. It must not be open.
func Wipe(fs vfs.FS, dir string) error {
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("discarding the store in %s: %w", dir, err)
	}
	return nil
}

// Discard wipes the store of these options.
func Discard(o Options) error { return Wipe(o.fs(), o.Dir) }

// Flush makes what is written so far durable, in the background, so that a
// killed process has little to replay. It costs one small table: call it every
// so many seconds at most.
func (s *Store) Flush() error {
	if _, err := s.db.AsyncFlush(); err != nil {
		return fmt.Errorf("flushing the store: %w", err)
	}
	return nil
}

// Close flushes and closes the store. A snapshot in flight ends with it; its
// Each must have returned.
func (s *Store) Close() error {
	if err := errors.Join(s.flush(), s.shut()); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

// flush writes what is in memory, which nobody needs of a store that is given up.
func (s *Store) flush() error {
	if err := s.health.Flush(s.db); err != nil && s.health.Err() == nil {
		return err
	}
	return nil
}

// Abandon closes the store as a killed process leaves it: what is not flushed
// is gone.
func (s *Store) Abandon() error {
	if err := s.shut(); err != nil {
		return fmt.Errorf("abandoning the store: %w", err)
	}
	return nil
}

func (s *Store) shut() error {
	var err error
	if sn := s.dirty.snapshot; sn != nil {
		err = sn.close()
	}
	err = errors.Join(err, s.db.Close())
	s.closeOwn()
	if s.health.rotten.Load() { // or the next one would meet it again
		err = errors.Join(err, Discard(s.opts))
	}
	return err
}

func (s *Store) closeOwn() {
	if s.own != nil {
		s.own.Close()
		s.own = nil
	}
}
