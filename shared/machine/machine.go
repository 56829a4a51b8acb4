package machine

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Machine is the deterministic state machine that a partition hosts. All of
// its methods are pure functions of their arguments: state is read and changed
// through tx only. A method that panics is a defect; the partition contains it.
type Machine interface {
	// Decide decides one input as the record at position at, at time now (Unix
	// ms), and changes tx as its events do. No events mean that the input changes
	// nothing and needs no record.
	Decide(tx *rows.Tx, at events.Position, now int64, in Input) Outcome

	// Apply folds a record into the state, as Decide did when it was made, unless
	// the rows of its workflow hold it already, and returns the same outcome.
	// Rows of the partition may be newer than a record that is guarded: of that
	// one only the rows of its workflow count, and its outcome is empty.
	Apply(tx *rows.Tx, rec *events.Record, guarded bool) Outcome

	// Task makes the task record of an open attempt again: the one that its
	// dispatch came to, whatever has changed since, but with what workers said of it
	// meanwhile. There is none if the attempt that a names is not open in tx.
	Task(tx *rows.Tx, workflow string, a *Attempt, runnable events.RunnableID) (Effect, bool)

	// Watched is an empty row of table Runnable of an entity, to decode into at recovery.
	Watched(id string) Watched

	// Delivery is that of the open attempt of a runnable, if one is open.
	Delivery(tx *rows.Tx, workflow string, runnable events.RunnableID) (Delivery, bool)

	// RequestID is what a delivery is called outside: the text of its token.
	RequestID(t events.Token) string

	// Query answers a read. It must not change tx.
	Query(tx *rows.Tx, now int64, q *events.Query) events.Reply
}

// Outcome is what a record comes to, besides what it changes of the state.
type Outcome struct {
	Events []events.Event

	// Effects are what follows outside of the state, in a fixed order. The slice is
	// valid until the machine is called again, what its effects point to for good.
	Effects []Effect

	// Ended are the deliveries that have ended with the record, in the order in which they did. The
	// slice is valid as long as that of the effects.
	Ended []Ended

	// Answer is the reply to the command that was decided, if it was one; the
	// ledger keeps it for repetitions. Its ID and Command are the caller's.
	Answer events.Reply

	// Due says that the changed rows of the workflow are due in the next
	// checkpoint, by the workflow's strategy.
	Due bool

	// InHand says that the record, or one before it, has left work of the entity:
	// it wants Continue.
	InHand bool
}

// Input is one thing to decide: Continue is, or exactly one of its pointers, but for a start that
// comes with a Quarantine: the workflow that it begins is held from its begin. Limit is
// set when what was decided does not fit the broker's limit: then it is decided in the
// smallest pieces, and what fits none of them is refused, or fails its component.
type Input struct {
	Workflow string
	Source   events.Source
	ReplyTo  events.ReplyTo
	Trace    string
	Limit    int // bytes of a record; 0: none is known to be exceeded

	Command *events.Command     // from commands
	Inbox   events.InboxMessage // from inbox
	Late    bool                // a message so old that one like it may have been decided, and forgotten
	Timer   *rows.Key           // of table Timer, due
	Lost    *Lost               // an open attempt whose worker vanished

	Continue bool // the next piece of what the entity has in hand

	Quarantine *Quarantine // records are gone that may have concerned it
}

// Quarantine asks to hold a workflow until somebody has looked at it.
type Quarantine struct {
	Reason string // what is gone
	Active bool   // it concerns workflows with active attempts only
}

// Lost reports that the worker of an open attempt vanished, or that its record
// can never be delivered.
type Lost struct {
	Runnable events.RunnableID
	Attempt  uint32
	Reason   string
	Moved    bool // nothing is lost: nobody is known to have begun it, and the attempts of its queue go elsewhere by now
	Unsure   bool // nothing is known to be lost: the pool that has it may know better, and is asked
}

// EffectKind says where an effect goes.
type EffectKind uint8

// Kinds of effects.
const (
	TaskEffect    EffectKind = 1  // to tasks.QUEUE; remade from open attempts, needs no outbox
	CancelEffect  EffectKind = 2  // to task-control
	ReplyEffect   EffectKind = 3  // to replies, keyed by address
	StatusEffect  EffectKind = 4  // to status; an empty value deletes
	DLQEffect     EffectKind = 5  // to dlq
	ForwardEffect EffectKind = 6  // to commands or inbox of another partition
	MessageEffect EffectKind = 7  // to the inbox of another entity, Key: what Value tells it
	NoticeEffect  EffectKind = 9  // to status, beside the summary: the workflow Key has drained; an empty value deletes
	EmitEffect    EffectKind = 8  // to Topic, which belongs to other systems: a CloudEvent with Value as its data
	RunnerEffect  EffectKind = 10 // to runner-commands, keyed by the id of a runner's session
)

// Effect is one record to produce because of a journal record.
type Effect struct {
	Kind     EffectKind
	Key      string // id of a workflow or another entity, or a reply's address
	Queue    string // tasks: the queue
	Runnable events.RunnableID
	Spread   uint64 // tasks: how many partitions of the queue behind the workflow's home
	Early    bool   // tasks of execution mode async: published together with the append
	Topic    string // emitted events: where to
	Type     string // emitted events: the CloudEvent's type
	Value    []byte
}
