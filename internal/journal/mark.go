package journal

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Mark names one lawful record of a journal partition: where it is, its
// position, what it says, and what all records up to it say. The zero Mark
// stands before the first record of the journal.
type Mark struct {
	Position events.Position
	Offset   int64
	Digest   uint64 // of the values up to and including this record
	Value    uint64 // of this record's value alone
}

// Fields implements wire.Message.
func (m *Mark) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "position", &m.Position)
	wire.Int(c, 2, "offset", &m.Offset)
	wire.Int(c, 3, "digest", &m.Digest)
	wire.Int(c, 4, "value", &m.Value)
}

// IsZero reports whether m stands before the first record.
func (m Mark) IsZero() bool { return m.Position.IsZero() }

// Before reports whether m's record comes earlier than n's.
func (m Mark) Before(n Mark) bool { return m.Position.Before(n.Position) }

// Next is the mark of the lawful record that follows m's. Equal marks mean equal
// histories: a log that lost its tail and grew another one of the same positions
// is told apart.
func (m Mark) Next(at events.Position, offset int64, value []byte) Mark {
	var chain [16]byte
	own := xxhash.Sum64(value)
	binary.LittleEndian.PutUint64(chain[:], m.Digest)
	binary.LittleEndian.PutUint64(chain[8:], own)
	return Mark{Position: at, Offset: offset, Digest: xxhash.Sum64(chain[:]), Value: own}
}

// names reports whether a lawful record is the one that m names.
func (m Mark) names(at events.Position, offset int64, value []byte) bool {
	return m.Position == at && m.Offset == offset && m.Value == xxhash.Sum64(value)
}
