package archive

import (
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Encode makes the entry of a record: the version of its format, and the record as the journal has it.
func Encode(rec *events.Record) []byte { return entryOf(events.EncodeRecord(rec)) }

// entryOf is the entry of a record that is encoded.
func entryOf(value []byte) []byte {
	return append(append(make([]byte, 0, 1+len(value)), events.Version), value...)
}

var errEmpty = errors.New("the entry is empty")

// Decode is the inverse of Encode. An entry of a later format than this program knows is a *wire.FormatError. User
// values alias b.
func Decode(b []byte) (*events.Record, error) {
	if len(b) == 0 {
		return nil, errEmpty
	}
	if b[0] > events.Version {
		return nil, &wire.FormatError{What: "an entry of the archive", Has: uint64(b[0]), Knows: events.Version}
	}
	rec, err := events.DecodeRecord(b[1:])
	if err != nil {
		return nil, fmt.Errorf("an entry of the archive: %w", err)
	}
	return rec, nil
}
