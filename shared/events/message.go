package events

import (
	"strconv"

	"github.com/heddle-run/heddle/shared/wire"
)

// EntityMessage is what one entity tells another: an effect of a record of its
// sender, in the inbox of its receiver. A repetition has the same ID.
type EntityMessage struct {
	From      string // the sender's id
	Partition int32  // of the sender
	Decided   Position
	Number    uint64 // among the effects of that record
	Written   int64  // Unix ms; the time of that record
	Body      []byte // as the two entities understand it
}

// AttemptToken implements InboxMessage: it is about no attempt.
func (m *EntityMessage) AttemptToken() []byte { return nil }

// DedupeID is the key of the message among those that its receiver has had.
func (m *EntityMessage) DedupeID() string {
	b := append(strconv.AppendInt(nil, int64(m.Partition), 10), '/')
	b = append(append(b, m.Decided.String()...), '/')
	return string(strconv.AppendUint(b, m.Number, 10))
}

// Fields implements wire.Message.
func (m *EntityMessage) Fields(c *wire.Codec) {
	wire.Name(c, 1, "from", &m.From)
	wire.Int(c, 2, "partition", &m.Partition)
	wire.Nested(c, 3, "decided", &m.Decided)
	wire.Int(c, 4, "number", &m.Number)
	wire.Int(c, 5, "written", &m.Written)
	c.Bytes(6, "body", &m.Body)
}
