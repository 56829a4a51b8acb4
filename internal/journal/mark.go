package journal

import (
	"github.com/cespare/xxhash/v2"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Mark names one lawful record of a journal partition: where it is, its
// position, and what all records up to it were. The zero Mark stands before the
// first record of the journal.
type Mark struct {
	Position events.Position
	Offset   int64
	Digest   uint64 // Chain over the values up to and including this record
}

// Fields implements wire.Message.
func (m *Mark) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "position", &m.Position)
	wire.Int(c, 2, "offset", &m.Offset)
	wire.Int(c, 3, "digest", &m.Digest)
}

// IsZero says whether m stands before the first record.
func (m Mark) IsZero() bool { return m.Position.IsZero() }

// Before says whether m's record comes earlier than n's.
func (m Mark) Before(n Mark) bool { return m.Position.Before(n.Position) }

// Next is the mark of the lawful record that follows m's.
func (m Mark) Next(at events.Position, offset int64, value []byte) Mark {
	return Mark{Position: at, Offset: offset, Digest: Chain(m.Digest, value)}
}

// Chain continues a digest by the value of the next lawful record. Equal
// digests at equal positions mean equal histories: a log that lost its tail and
// grew another one of the same positions is told apart (O4).
func Chain(digest uint64, value []byte) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(digest)
	_, _ = d.Write(value) // never fails
	return d.Sum64()
}
