package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Get reads the row at k into a zero row and reports whether there is one.
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
	return s.visit(from.Append(nil), scanEnd(from), visit)
}

// ScanTable visits all rows of a table in key order, of every workflow, until
// visit returns false. A value is valid during its visit only.
func (s *Store) ScanTable(t rows.Table, visit func(k rows.Key, value []byte) bool) error {
	return s.visit([]byte{byte(t)}, []byte{byte(t) + 1}, visit)
}

// ScanTableFrom visits the rows of a table from a key on, as ScanTable does.
func (s *Store) ScanTableFrom(from rows.Key, visit func(k rows.Key, value []byte) bool) error {
	return s.visit(from.Append(nil), []byte{byte(from.Table) + 1}, visit)
}

func (s *Store) visit(from, to []byte, visit func(k rows.Key, value []byte) bool) error {
	it, err := s.iterate(from, to)
	if err != nil {
		return err
	}
	end := ending{it: it}
	defer end.close()
	for ok := it.First(); ok; ok = it.Next() {
		k, err := rows.ParseKey(it.Key())
		if err != nil {
			return errors.Join(fmt.Errorf("scanning from %x: %w", from, err), end.in(from))
		}
		if !visit(k, it.Value()) {
			break
		}
	}
	return end.in(from)
}

// ending closes an iterator once, also when a visitor panics: that is a defect that is
// contained, and a store with an open iterator cannot be closed.
type ending struct{ it *pebble.Iterator }

// in closes after a scan from a key, and tells its error.
func (e *ending) in(from []byte) error {
	it := e.it
	e.it = nil
	return closeIterator(it, from)
}

func (e *ending) close() {
	if e.it != nil {
		_ = e.it.Close() // what the visitor met is told
	}
}

// iterate makes an iterator over the keys from one (inclusive) to another
// (exclusive), which are kept.
func (s *Store) iterate(from, to []byte) (*pebble.Iterator, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return nil, fmt.Errorf("scanning from %x: %w", from, err)
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

func closeIterator(it *pebble.Iterator, from []byte) error {
	if err := it.Close(); err != nil {
		return fmt.Errorf("scanning from %x: %w", from, err)
	}
	return nil
}
