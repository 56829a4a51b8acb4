package loop

import (
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Rows of table Runtime.
var (
	leaseKey  = rows.Key{Table: rows.Runtime, A: 1}
	replayKey = rows.Key{Table: rows.Runtime, A: 2}
)

// unapplied is the A of the rows of table Runtime that unappliedKey makes.
const unapplied = 3

func positionKey(s events.Source) rows.Key {
	return rows.Key{Table: rows.Position, A: uint64(s)}
}

// leaseRow is the lease as the journal says it.
type leaseRow = runtime.Lease

// replayRow is an operator's request to read an input log again.
type replayRow struct{ Cursor string }

// doubtKey is where it stands which commands a lost journal may have decided.
var doubtKey = rows.Key{Table: rows.Runtime, A: 0, B: 4} // behind those of quarantineKey

// doubtRow is which commands a lost journal may have decided: those of a generation
// below an offset. What they begin is held, as it may have run already.
type doubtRow struct {
	Generation uint32
	Below      int64
	Reason     string
}

// Fields implements wire.Message.
func (r *doubtRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "generation", &r.Generation)
	wire.Int(c, 2, "below", &r.Below)
	wire.String(c, 3, "reason", &r.Reason)
}

// quarantineKey is where a quarantine stands that is under way, because of a loss of an
// input log, or, of the engine's, of the journal.
func quarantineKey(s events.Source) rows.Key {
	return rows.Key{Table: rows.Runtime, A: 0, B: uint64(s)}
}

// quarantineRow is a quarantine that is under way: not every workflow that the loss may
// concern has been asked.
type quarantineRow struct {
	Reason string
	Active bool // it concerns workflows with active attempts only
}

// Fields implements wire.Message.
func (r *quarantineRow) Fields(c *wire.Codec) {
	wire.String(c, 1, "reason", &r.Reason)
	c.Bool(2, "active", &r.Active)
}

// unappliedKey is where a record of the journal stands that could not be applied.
func unappliedKey(at events.Position) rows.Key {
	return rows.Key{Table: rows.Runtime, A: unapplied, B: at.Epoch, C: at.Seq}
}

// unappliedRow is a record that could not be applied, until the journal says so.
type unappliedRow struct{ Workflow, Reason string }

// Fields implements wire.Message.
func (r *unappliedRow) Fields(c *wire.Codec) {
	wire.String(c, 1, "workflow", &r.Workflow)
	wire.String(c, 2, "reason", &r.Reason)
}

// Fields implements wire.Message.
func (r *replayRow) Fields(c *wire.Codec) { wire.String(c, 1, "cursor", &r.Cursor) }

// PositionRow is how far the journal says that an input log was read, and what
// is needed to notice that the log is another one now.
type PositionRow struct {
	Generation  uint32
	Next        int64           // offset to read
	TopicID     []byte          // of the log when the present owner acquired
	LeaderEpoch int32           // of the record before Next
	Digest      uint32          // of the record before Next
	Time        int64           // Unix ms of the newest stamp consumed
	Ahead       int64           // ms by which a record was stamped later than that: see InputRef
	Older       []ReadRecord    // oldest first
	Jumped      events.Position // of the record that last moved the position by its word
	Remade      bool            // the log is another one since, and no record says so yet
}

// Fields implements wire.Message.
func (p *PositionRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "generation", &p.Generation)
	wire.Int(c, 2, "next", &p.Next)
	c.Bytes(3, "topic_id", &p.TopicID)
	wire.Int(c, 4, "leader_epoch", &p.LeaderEpoch)
	wire.Int(c, 5, "digest", &p.Digest)
	wire.Int(c, 6, "time", &p.Time)
	wire.Repeated(c, 7, "older", &p.Older)
	wire.Nested(c, 8, "jumped", &p.Jumped)
	c.Bool(9, "remade", &p.Remade)
	wire.Int(c, 10, "ahead", &p.Ahead)
}

// ReadRecord identifies a record of an input log that was read.
type ReadRecord struct {
	Offset      int64
	LeaderEpoch int32
	Digest      uint32
}

// Fields implements wire.Message.
func (m *ReadRecord) Fields(c *wire.Codec) {
	wire.Int(c, 1, "offset", &m.Offset)
	wire.Int(c, 2, "leader_epoch", &m.LeaderEpoch)
	wire.Int(c, 3, "digest", &m.Digest)
}

// ledgerRow remembers an input by its id.
type ledgerRow struct {
	Digest uint64
	Old    json.RawMessage // the answer in rows of before: events.Reply without ID and Command
	Time   int64           // Unix ms of the record
	Answer *answerRow      // nil when there is none, or an old one
}

// Fields implements wire.Message.
func (l *ledgerRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "digest", &l.Digest)
	c.JSON(2, "answer", &l.Old)
	wire.Int(c, 3, "time", &l.Time)
	wire.Optional(c, 4, "first", &l.Answer)
}

// answerRow is the answer to a command, without what its row's key and a
// repetition of the command say.
type answerRow struct {
	Result  string // empty: done
	Refusal *events.Refusal
	Summary *events.Summary
	Body    json.RawMessage // of a machine that gives no summary
}

// Fields implements wire.Message.
func (a *answerRow) Fields(c *wire.Codec) {
	wire.String(c, 1, "result", &a.Result)
	wire.Optional(c, 2, "refusal", &a.Refusal)
	wire.Optional(c, 3, "summary", &a.Summary)
	c.JSON(4, "body", &a.Body)
}

// outboxRow is an effect that is not known to be out.
type outboxRow struct {
	Kind    machine.EffectKind
	Log     events.Source
	Key     string
	Headers []headerRow
	Value   []byte

	Topic    string       // of an emitted event
	Original *originalRow // set: what it carries is to be read first
}

// Fields implements wire.Message.
func (o *outboxRow) Fields(c *wire.Codec) {
	wire.Int(c, 1, "kind", &o.Kind)
	wire.Int(c, 2, "log", &o.Log)
	wire.String(c, 3, "key", &o.Key)
	wire.Repeated(c, 4, "headers", &o.Headers)
	c.Bytes(5, "value", &o.Value)
	wire.Optional(c, 6, "original", &o.Original)
	wire.String(c, 7, "topic", &o.Topic)
}

type headerRow struct {
	Key   string
	Value []byte
}

// Fields implements wire.Message.
func (h *headerRow) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &h.Key)
	c.Bytes(2, "value", &h.Value)
}

func (o *Outgoing) outboxRow() *outboxRow {
	row := &outboxRow{Kind: o.Kind, Log: o.Log, Key: o.Key, Topic: o.Topic, Value: o.Value, Original: o.Original}
	for _, h := range o.Headers {
		row.Headers = append(row.Headers, headerRow{h.Key, h.Value})
	}
	return row
}

// outgoing is the effect of an outbox row.
func outgoing(k rows.Key, row *outboxRow) *Outgoing {
	o := &Outgoing{
		Kind: row.Kind, Log: row.Log, Key: row.Key, Topic: row.Topic, Value: row.Value,
		Decided: events.Position{Epoch: k.A, Seq: k.B}, Number: k.C, kept: true, written: true, Original: row.Original,
	}
	for _, h := range row.Headers {
		o.Headers = append(o.Headers, events.Header{Key: h.Key, Value: h.Value})
	}
	return o
}

// IsOf reports whether rec is the record that was read, where it was: its bytes, what the
// leader was that took it, and that it is no younger than the newest stamp that was
// read, where one was (of the inbox none is). An equal record that was written after
// others were lost has another leader's epoch: every election raises that.
func (m ReadRecord) IsOf(rec *kgo.Record, newest int64) bool {
	younger := newest > 0 && rec.Timestamp.UnixMilli() > newest
	return DigestOf(rec) == m.Digest && max(0, rec.LeaderEpoch) == m.LeaderEpoch && !younger
}
