package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/rows"
)

// FS is the file system that a store is on.
type FS = vfs.FS

// ScanTable visits all rows of a table in key order, of every workflow, until
// visit returns false. It reads the store, not what a cache holds over it. A
// value is valid during its visit only.
func (s *Store) ScanTable(t rows.Table, visit func(k rows.Key, value []byte) bool) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{byte(t)}, UpperBound: []byte{byte(t) + 1}})
	if err != nil {
		return fmt.Errorf("scanning table %d: %w", t, err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		k, err := rows.ParseKey(it.Key())
		if err != nil {
			return errors.Join(fmt.Errorf("scanning table %d: %w", t, err), it.Close())
		}
		if !visit(k, it.Value()) {
			break
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("scanning table %d: %w", t, err)
	}
	return nil
}

// Discard wipes the store of these options.
func Discard(o Options) error {
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	return Wipe(fs, o.Dir)
}

// Abandon closes the store as a killed process leaves it: what is not flushed
// is gone.
func (s *Store) Abandon() error {
	err := s.db.Close()
	s.closeOwn()
	if err != nil {
		return fmt.Errorf("abandoning the store: %w", err)
	}
	return nil
}
