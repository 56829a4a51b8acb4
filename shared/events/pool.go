package events

import (
	"fmt"
	"regexp"

	"github.com/heddle-run/heddle/shared/wire"
)

// PoolPrefix begins the ids of runner pools: pool:NAME.
const PoolPrefix = "pool:"

// MaxPoolName bounds the name of a pool, in bytes.
const MaxPoolName = 100

var poolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckPoolName refuses what cannot be the name of a pool of runners, which is part of an entity's id: 1 to 100 letters,
// digits, dots, dashes and underscores, beginning with a letter or digit.
func CheckPoolName(name string) error {
	if len(name) > MaxPoolName || !poolName.MatchString(name) {
		return fmt.Errorf("pool name %q: want 1 to %d of A-Za-z0-9._-, beginning with a letter or digit", name, MaxPoolName)
	}
	return nil
}

// PoolVerb is what workflows and pools tell each other. Values are recorded.
type PoolVerb uint8

// What is told. A workflow offers and withdraws, a pool gives back, and each asks the other whether it knows of an attempt still.
const (
	PoolOffer    PoolVerb = 1 // run this attempt
	PoolWithdraw PoolVerb = 2 // the attempt is not wanted any more
	PoolLost     PoolVerb = 3 // its runner may have begun it, and nobody will report what became of it
	PoolReturn   PoolVerb = 4 // no runner has begun it, and none will
	PoolAsk      PoolVerb = 5 // of a shard to another one: are there free slots?
	PoolSpare    PoolVerb = 6 // the answer where there are
	PoolInquire  PoolVerb = 7 // is the attempt known? A pool that does not know it returns it, a workflow withdraws it
)

// PoolMessage is the body of a message between a workflow and the pool that runs an attempt of it, or between two shards of a pool.
type PoolMessage struct {
	Verb   PoolVerb
	Token  []byte // of the attempt, sealed
	Rank   uint8  // of an offer: of the attempt's priority; the lowest goes first
	Queue  string // of an offer: that the attempt was dispatched to
	Task   []byte // of an offer: the Task, as for a worker
	Reason string // of the others: in words
	Shard  string // of what is returned: id of the shard of the pool that has free slots; empty: none is known to have
	Slots  uint64 // that a shard has free, and nothing waits for
}

// Fields implements wire.Message.
func (m *PoolMessage) Fields(c *wire.Codec) {
	wire.Int(c, 1, "verb", &m.Verb)
	c.Bytes(2, "token", &m.Token)
	wire.Int(c, 3, "rank", &m.Rank)
	wire.String(c, 4, "queue", &m.Queue)
	c.Bytes(5, "task", &m.Task)
	wire.String(c, 6, "reason", &m.Reason)
	wire.Name(c, 7, "shard", &m.Shard)
	wire.Int(c, 8, "slots", &m.Slots)
}

// Connection names the socket of a runner: the executor's own id, and the executor's number of it. An executor gives
// no number twice.
type Connection struct {
	Executor string // empty: there is no socket
	Number   uint64
}

// Fields implements wire.Message.
func (n *Connection) Fields(c *wire.Codec) {
	wire.Name(c, 1, "executor", &n.Executor)
	wire.Int(c, 2, "number", &n.Number)
}

// RunnerHello is how a runner introduces itself on a new socket.
type RunnerHello struct {
	Key      string // that the runner is known by over its connections
	Name     string
	Version  uint32
	Slots    uint32
	Instance string // that the process gave itself; empty: it gave none
	Received uint64 // commands that the process has received, from the first on; 0: none that it remembers
	Names    []TaskName
	Metadata []byte // JSON
	Address  string // under which gateways reach the executor; empty: they do not
	Sent     bool   // another shard of the pool has sent it here: it stays
}

// Fields implements wire.Message.
func (h *RunnerHello) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &h.Key)
	wire.String(c, 2, "name", &h.Name)
	wire.Int(c, 3, "version", &h.Version)
	wire.Int(c, 4, "slots", &h.Slots)
	wire.String(c, 5, "instance", &h.Instance)
	wire.Int(c, 6, "received", &h.Received)
	wire.Repeated(c, 7, "names", &h.Names)
	c.Bytes(8, "metadata", &h.Metadata)
	wire.String(c, 9, "address", &h.Address)
	c.Bool(10, "sent", &h.Sent)
}

// TaskName is a task that a runner knows before it has run any.
type TaskName struct {
	Name     string
	Metadata []byte // JSON
}

// Fields implements wire.Message.
func (n *TaskName) Fields(c *wire.Codec) {
	wire.String(c, 1, "name", &n.Name)
	c.Bytes(2, "metadata", &n.Metadata)
}

// TaskState is what a runner says of a task that it was given. Values are recorded.
type TaskState uint8

// The states of a task at its runner.
const (
	TaskRunning    TaskState = 1
	TaskStopped    TaskState = 2 // and its outcome is reported to its workflow
	TaskUnfinished TaskState = 3 // it was stopped for the runner's sake: it has no outcome of its own
	TaskOther      TaskState = 4 // something else was said, which changes no state
	TaskLeaving    TaskState = 5 // it wants to be told to stop, or sleeps
)

// RunnerEvent is one event of a runner. Index counts the events of a session from 0.
type RunnerEvent struct {
	Index uint64
	Token []byte
	State TaskState
}

// Fields implements wire.Message.
func (e *RunnerEvent) Fields(c *wire.Codec) {
	wire.Int(c, 1, "index", &e.Index)
	c.Bytes(2, "token", &e.Token)
	wire.Int(c, 3, "state", &e.State)
}

// RunnerReport is what an executor tells a pool of one of its runners, or with no runner named, that it is there
// itself. It is keyed by the pool.
type RunnerReport struct {
	Connection
	Runner   string        // id of the session that the socket has; empty: none yet
	Session  uint64        // its number in the pool
	Hello    *RunnerHello  // first on a socket
	Events   []RunnerEvent // ascending, without gaps
	Received uint64        // commands that the runner has acknowledged, from the first on; 0: nothing is said
	Stopping bool          // the runner wants no more work, and goes when it is done
	Silent   bool          // nothing came from it for so long that it gets no new work
	Heard    bool          // it is silent no more
	Closed   string        // the socket is gone, for this reason; empty: it is there
}

// AttemptToken implements InboxMessage: it is about no single attempt.
func (*RunnerReport) AttemptToken() []byte { return nil }

// Fields implements wire.Message.
func (m *RunnerReport) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "connection", &m.Connection)
	wire.String(c, 2, "runner", &m.Runner)
	wire.Int(c, 3, "session", &m.Session)
	wire.Optional(c, 4, "hello", &m.Hello)
	wire.Repeated(c, 5, "events", &m.Events)
	wire.Int(c, 6, "received", &m.Received)
	c.Bool(7, "stopping", &m.Stopping)
	c.Bool(8, "silent", &m.Silent)
	c.Bool(9, "heard", &m.Heard)
	wire.String(c, 10, "closed", &m.Closed)
}

// RunnerCommands is what a pool has an executor do on a runner's socket, or where To has no number, on all sockets of the
// pool: the value of a record of topic runner-commands. It means nothing to who does not have the connection.
type RunnerCommands struct {
	To       Connection
	Pool     string // id of the entity
	Runner   string // id of the session; of one that is greeted elsewhere its key
	Welcome  *RunnerWelcome
	Commands []RunnerCommand // ascending, without gaps
	Close    string          // close the socket, for this reason, which is one of frames.Closes; empty: do not
	Greet    string          // id of the shard of the pool that is to be greeted instead; empty: none is
}

// Fields implements wire.Message.
func (m *RunnerCommands) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "to", &m.To)
	wire.String(c, 2, "pool", &m.Pool)
	wire.String(c, 3, "runner", &m.Runner)
	wire.Optional(c, 4, "welcome", &m.Welcome)
	wire.Repeated(c, 5, "commands", &m.Commands)
	wire.String(c, 6, "close", &m.Close)
	wire.Name(c, 7, "greet", &m.Greet)
}

// RunnerWelcome answers a RunnerHello.
type RunnerWelcome struct {
	Session   uint64 // number of the session in its pool
	Events    uint64 // events of the session that have counted, from the first on
	Threshold int64  // ms without a socket behind which the session is over
}

// Fields implements wire.Message.
func (m *RunnerWelcome) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &m.Session)
	wire.Int(c, 2, "events", &m.Events)
	wire.Int(c, 3, "threshold", &m.Threshold)
}

// RunnerCommand tells a runner to begin a task, or to stop it. Index counts the commands of a session from 0.
type RunnerCommand struct {
	Index uint64
	Token []byte // of the attempt, sealed
	Start []byte // the Task; empty: stop it
	Stop  string // why it is to stop
}

// Fields implements wire.Message.
func (m *RunnerCommand) Fields(c *wire.Codec) {
	wire.Int(c, 1, "index", &m.Index)
	c.Bytes(2, "token", &m.Token)
	c.Bytes(3, "start", &m.Start)
	wire.String(c, 4, "stop", &m.Stop)
}

// Why a runner is told to stop a task.
const (
	StopCancelled = "cancelled"  // the attempt is not wanted any more
	StopLost      = "lost"       // it was not confirmed in time, and another one takes its place
	StopGoingAway = "going_away" // its runner is to stop
	StopRequested = "requested"  // the attempt has asked for it, or sleeps
)

// DecodeRunnerCommands decodes the value of a record of topic runner-commands.
func DecodeRunnerCommands(b []byte) (*RunnerCommands, error) {
	m := &RunnerCommands{}
	if err := wire.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("decoding runner commands: %w", err)
	}
	return m, nil
}
