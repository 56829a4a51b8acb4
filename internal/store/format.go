package store

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// format is the row that says which version the rows of a store have.
type format struct{ Version uint64 }

// Fields implements wire.Message.
func (f *format) Fields(c *wire.Codec) { wire.Int(c, 1, "version", &f.Version) }

// checkFormat refuses, with a *wire.FormatError, a store that a newer program has
// written. A store that is opened here may get rows of this program's version from then on.
func (s *Store) checkFormat() error {
	var f format
	if _, err := s.Get(formatKey, &f); err != nil {
		return fmt.Errorf("reading the format: %w", err)
	}
	switch {
	case f.Version > events.Version:
		return &wire.FormatError{What: "the store", Has: f.Version, Knows: events.Version}
	case f.Version == events.Version:
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	if err := s.put(b, formatKey, &format{events.Version}); err != nil {
		return err
	}
	return s.apply(b, "writing the format")
}
