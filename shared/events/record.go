package events

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/wire"
)

// Source is the kind of place that an input came from.
type Source uint8

// Sources of inputs.
const (
	FromEngine   Source = 0 // the partition itself
	FromCommands Source = 1
	FromInbox    Source = 2
	FromTimer    Source = 3
)

func (s Source) String() string {
	return [...]string{"engine", "commands", "inbox", "timer"}[s&3]
}

// InputRef names the place of an input and what is needed to notice that its
// log changed under us.
type InputRef struct {
	Source      Source
	Generation  uint32 // counts the log's replacements
	Offset      int64  // of a log
	LeaderEpoch int32
	Digest      uint32 // of the record's key and value
	Stamp       int64  // Unix ms of a command's record: ages the ledger in the journal's order
	Ahead       int64  // ms by which the record is stamped later than that: its broker's clock was wrong
}

// Fields implements wire.Message.
func (r *InputRef) Fields(c *wire.Codec) {
	wire.Int(c, 1, "source", &r.Source)
	wire.Int(c, 2, "generation", &r.Generation)
	wire.Int(c, 3, "offset", &r.Offset)
	wire.Int(c, 4, "leader_epoch", &r.LeaderEpoch)
	wire.Int(c, 5, "digest", &r.Digest)
	wire.Int(c, 6, "stamp", &r.Stamp)
	wire.Int(c, 7, "ahead", &r.Ahead)
}

// Record is one accepted input with everything that follows from it: the value
// of a journal record.
type Record struct {
	Position Position
	Replaces uint64 // a takeover names the epoch that it replaces
	Input    InputRef
	ID       string // dedupe id of the input: SOURCE\x00ID; empty when it needs none
	Digest   uint64 // of the input's content, for conflicts under one id
	Workflow string
	Time     int64 // Unix ms, never going backwards
	ReplyTo  ReplyTo
	Trace    string // traceparent
	Events   []Event
}

// Fields implements wire.Message.
func (r *Record) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "position", &r.Position)
	wire.Int(c, 2, "replaces", &r.Replaces)
	wire.Nested(c, 3, "input", &r.Input)
	wire.String(c, 4, "id", &r.ID)
	wire.Int(c, 5, "digest", &r.Digest)
	wire.String(c, 6, "workflow", &r.Workflow)
	wire.Int(c, 7, "time", &r.Time)
	wire.Nested(c, 8, "reply_to", &r.ReplyTo)
	wire.String(c, 9, "trace", &r.Trace)
	eventsField(c, 10, &r.Events)
}

// OfMachine reports whether a record is applied by the machine of its workflow, or of another entity. What concerns the partition
// itself is not, though it may name a workflow: an input that the machine never saw, or an effect.
func OfMachine(r *Record) bool {
	if r.Workflow == "" || strings.HasPrefix(r.Workflow, partitionPrefix) || len(r.Events) == 0 {
		return false
	}
	switch r.Events[0].(type) {
	case *InputRejected, *InputForwarded, *EffectFailed, *WorkflowQuarantined, *DeliveryConfirmedLate:
		return false
	}
	return true
}

// EncodeRecord encodes r for the journal.
func EncodeRecord(r *Record) []byte { return wire.Marshal(r) }

// DecodeRecord decodes a journal record. User values alias b.
func DecodeRecord(b []byte) (*Record, error) {
	r := &Record{}
	if err := wire.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("decoding journal record: %w", err)
	}
	return r, nil
}

// ReplyTo says who waits for the answer to an input. Address is the key of a
// record on the replies topic, ID what the caller knows its question by.
type ReplyTo struct {
	Address string
	ID      string
	Wait    bool   // also tell when the workflow has drained, with its results
	End     bool   // with Wait: a decision that this follows is not told
	Command string // the name of the command that is answered; empty: it is none, or was not understood
}

// Fields implements wire.Message.
func (r *ReplyTo) Fields(c *wire.Codec) {
	wire.String(c, 1, "address", &r.Address)
	wire.String(c, 2, "id", &r.ID)
	c.Bool(3, "wait", &r.Wait)
	c.Bool(4, "end", &r.End)
	wire.Name(c, 5, "command", &r.Command)
}
