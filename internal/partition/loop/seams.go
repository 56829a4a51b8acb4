package loop

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Log is where an owner's records and effects go and where it asks about
// offsets. No call blocks; what comes of it arrives in a later Batch.
type Log interface {
	// Append writes a journal record; acknowledgements arrive in order.
	Append(rec *kgo.Record, seq uint64)
	// Produce writes an effect.
	Produce(out *Outgoing)
	// Destination is where an effect would go now.
	Destination(out *Outgoing) Destination
	// AskEnds asks for the ends of the input logs as of now.
	AskEnds()
	// AskDecided asks how far transactions in commands are decided: the answer is a
	// call of DecidedTo.
	AskDecided()
	// AskQueue asks where the log of a queue begins and ends and what its
	// workers have committed.
	AskQueue(queue string)
	// Took says that records of an input log have been decided or dropped.
	Took(source events.Source, records, bytes int)
	// Seek makes the reading of an input log go on at an offset.
	Seek(source events.Source, offset int64)
}

// State is the partition's rows: a store and the hot cache over it.
type State interface {
	rows.Source
	// Apply makes the changes of record n visible; they stay in memory until
	// Commit has written them.
	Apply(writes []rows.Write, n uint64)
	// Fresh says that there is no row of a workflow, so that none is looked for.
	Fresh(workflow string)
	// Expect says of which workflows the next records will be.
	Expect(workflows [][]byte)
	// Commit writes, in one batch, the changes of all records up to n, whose
	// mark is at, and rows of the partition that were not applied.
	Commit(n uint64, at journal.Mark, more []rows.Write) error
	// Dirty is how many bytes of rows no checkpoint is known to have written.
	Dirty() int
}

// StoredRows are the rows that the store itself has: what is in memory only is not
// among them, and what is read is not kept there.
type StoredRows interface {
	// Get reads the row at k into a zero row and reports whether there is one.
	Get(k rows.Key, into rows.Row) (bool, error)
	rowScanner
	// ScanTable visits all rows of a table in the order of their keys.
	ScanTable(t rows.Table, visit func(k rows.Key, value []byte) bool) error
}

// Clock is the owner's time.
type Clock interface{ Now() time.Time }

// Outgoing is one record to produce because of a journal record.
type Outgoing struct {
	Kind    machine.EffectKind
	Log     events.Source // forwarded: the input log
	Key     string
	Queue   string
	Topic   string // emitted events
	Headers []events.Header
	Value   []byte

	Runnable events.RunnableID // tasks
	Spread   uint64            // tasks: partitions of the queue behind the home
	Decided  events.Position   // the record that it follows from
	Number   uint64            // among that record's effects

	kept    bool      // it wants an outbox row
	early   bool      // released with the append
	sent    bool      // released, or waiting for the lease
	out     bool      // acknowledged, or refused for good
	written bool      // the store has its outbox row
	Passed  bool      // a summary: a newer one took its place; the lock of statuses guards it
	parked  bool      // its remains wait in a waitlist
	counted bool      // in the bounds of what is outside
	from    *waitlist // that it was taken from; nil: none

	Original *originalRow // what it carries is not read yet; nil: it is

	partition int32 // where it is, once it is out
	offset    int64 // -1: that is not known

	Record kgo.Record // for a log of Kafka: room, as one is made for every step
	key    [32]byte   // of record, mostly
}

// Row is the key of its outbox row.
func (o *Outgoing) Row() rows.Key {
	return rows.Key{Table: rows.Outbox, A: o.Decided.Epoch, B: o.Decided.Seq, C: o.Number}
}

// Fill makes the record for a log of Kafka in the room that o has for it.
func (o *Outgoing) Fill(topic string, partition int32) {
	o.Record = kgo.Record{Topic: topic, Partition: partition, Key: append(o.key[:0], o.Key...), Value: o.Value}
}

func (o *Outgoing) size() int { return len(o.Key) + len(o.Value) + 64 }

// Batch is everything that reached an owner since its last step.
type Batch struct {
	Appended []Appended
	Produced []Produced
	Inputs   [Logs][]*kgo.Record // by source; control records included
	Queries  []*events.Query
	Ends     []Ends
	Queues   []QueueOffsets
	Broken   []Broken
	Renewed  []Renewed
	Commands []func(*Processor) // of the owner itself, in its goroutine
}

// Reset empties b for reuse without keeping what it pointed to.
func (b *Batch) Reset() {
	clear(b.Produced)
	for i := range b.Inputs {
		clear(b.Inputs[i])
		b.Inputs[i] = b.Inputs[i][:0]
	}
	clear(b.Queries)
	clear(b.Commands)
	clear(b.Broken)
	b.Appended, b.Produced = b.Appended[:0], b.Produced[:0]
	b.Queries, b.Commands, b.Broken = b.Queries[:0], b.Commands[:0], b.Broken[:0]
	b.Ends, b.Queues, b.Renewed = b.Ends[:0], nil, b.Renewed[:0]
}

// Appended is the outcome of one append.
type Appended struct {
	Seq    uint64
	Offset int64 // -1 when the log cannot tell
	Err    error
}

// Produced is the outcome of one effect.
type Produced struct {
	Out         *Outgoing
	Partition   int32
	Offset      int64
	Err         error       // for good, unless Unavailable is set
	Unavailable Destination // set: it is not out, as this takes nothing for now
}

// Ends are the ends of the input logs, some time after the question was asked.
type Ends struct {
	End [Logs]int64
	Err error
}

// QueueOffsets is where a queue's log stands, by partition.
type QueueOffsets struct {
	Queue      string
	Partitions []QueuePartition
	Err        error
}

// QueuePartition is one partition of a queue's log.
type QueuePartition struct {
	Start, End, Committed int64
	Unknown               bool // it has no leader: nothing else is known
}

// Broken says that an input log is not what it was at the place it was read.
type Broken struct {
	Source events.Source
	Err    error
}

// Renewed says until when the lease was renewed, and whether it is shown as stale.
type Renewed struct {
	Until int64
	Stale bool
}

// Logs bounds the arrays that are indexed by the sources commands and inbox.
const Logs = 3

// Inputs are the input logs, in the order of their turns.
var Inputs = [...]events.Source{events.FromInbox, events.FromCommands}
