package events

import "github.com/heddle-run/heddle/shared/wire"

// WorkOffered is an attempt that a pool has taken into its queue.
type WorkOffered struct {
	Number uint64 // by arrival
	Rank   uint8  // of its priority: the lowest goes first
	Token  []byte
	Queue  string
	Task   []byte
}

func (*WorkOffered) number() int { return 101 }

// Fields implements wire.Message.
func (e *WorkOffered) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Int(c, 2, "rank", &e.Rank)
	c.Bytes(3, "token", &e.Token)
	wire.String(c, 4, "queue", &e.Queue)
	c.Bytes(5, "task", &e.Task)
}

// WorkGiven is an attempt that has a slot of a runner, which is told to begin it.
type WorkGiven struct {
	Number  uint64
	Session uint64
	Index   uint64 // of the command
	Due     int64  // Unix ms until which the runner must have said that it runs
}

func (*WorkGiven) number() int { return 102 }

// Fields implements wire.Message.
func (e *WorkGiven) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Int(c, 2, "session", &e.Session)
	wire.Int(c, 3, "index", &e.Index)
	wire.Int(c, 4, "due", &e.Due)
}

// WorkBegun is an attempt of which its runner has said that it runs.
type WorkBegun struct{ Number uint64 }

func (*WorkBegun) number() int { return 103 }

// Fields implements wire.Message.
func (e *WorkBegun) Fields(c *wire.Codec) { wire.Int(c, 1, "number", &e.Number) }

// WorkAsked is an attempt that runs for long, whose workflow is asked whether it is open still: the word that it has ended, or is not
// wanted, may be lost.
type WorkAsked struct {
	Number uint64
	Token  []byte
	Due    int64 // Unix ms when it is asked again
}

func (*WorkAsked) number() int { return 122 }

// Fields implements wire.Message.
func (e *WorkAsked) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	c.Bytes(2, "token", &e.Token)
	wire.Int(c, 3, "due", &e.Due)
}

// WorkStopping is an attempt whose runner is told to stop it.
type WorkStopping struct {
	Number  uint64
	Session uint64
	Index   uint64 // of the command
	Reason  string
	Due     int64 // Unix ms until which the runner must have said that it has; 0: it may take its time
}

func (*WorkStopping) number() int { return 104 }

// Fields implements wire.Message.
func (e *WorkStopping) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Int(c, 2, "session", &e.Session)
	wire.Int(c, 3, "index", &e.Index)
	wire.String(c, 4, "reason", &e.Reason)
	wire.Int(c, 5, "due", &e.Due)
}

// WorkOver is an attempt that is the pool's no more, and frees its slot if it had one.
type WorkOver struct {
	Number uint64
	Token  []byte
	Tells  PoolVerb // what its workflow is told: PoolLost, PoolReturn; 0: nothing
	Reason string
	Shard  string // id of the shard of the pool that has free slots for it; empty: it was not given up for that
}

func (*WorkOver) number() int { return 105 }

// Fields implements wire.Message.
func (e *WorkOver) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	c.Bytes(2, "token", &e.Token)
	wire.Int(c, 3, "tells", &e.Tells)
	wire.String(c, 4, "reason", &e.Reason)
	wire.Name(c, 5, "shard", &e.Shard)
}

// WorkDeclined is an attempt that a pool does not take, which its workflow is told.
type WorkDeclined struct {
	Token  []byte
	Reason string
}

func (*WorkDeclined) number() int { return 106 }

// Fields implements wire.Message.
func (e *WorkDeclined) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &e.Token)
	wire.String(c, 2, "reason", &e.Reason)
}

// OfferForestalled is an attempt that was withdrawn before it was offered: the offer is not taken when it comes.
type OfferForestalled struct {
	Number uint64
	Token  []byte
}

func (*OfferForestalled) number() int { return 107 }

// Fields implements wire.Message.
func (e *OfferForestalled) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	c.Bytes(2, "token", &e.Token)
}

// RunnerJoined is a new session of a runner. RunnerConnected follows.
type RunnerJoined struct {
	Session  uint64
	Runner   string // id of the session
	Key      string
	Name     string
	Version  uint32
	Slots    uint32
	Instance string
}

func (*RunnerJoined) number() int { return 108 }

// Fields implements wire.Message.
func (e *RunnerJoined) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.String(c, 2, "runner", &e.Runner)
	wire.String(c, 3, "key", &e.Key)
	wire.String(c, 4, "name", &e.Name)
	wire.Int(c, 5, "version", &e.Version)
	wire.Int(c, 6, "slots", &e.Slots)
	wire.String(c, 7, "instance", &e.Instance)
}

// RunnerConnected is a session that has a socket.
type RunnerConnected struct {
	Session   uint64
	To        Connection
	Evicts    Connection // the socket that it had before, which is closed; empty: none
	Received  uint64     // commands that the runner has received, as it says; 0: none that it remembers
	Names     []TaskName
	Metadata  []byte
	Address   string
	Threshold int64 // ms without a socket behind which the session is over
}

func (*RunnerConnected) number() int { return 109 }

// Fields implements wire.Message.
func (e *RunnerConnected) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.Nested(c, 2, "to", &e.To)
	wire.Nested(c, 3, "evicts", &e.Evicts)
	wire.Int(c, 4, "received", &e.Received)
	wire.Repeated(c, 5, "names", &e.Names)
	c.Bytes(6, "metadata", &e.Metadata)
	wire.String(c, 7, "address", &e.Address)
	wire.Int(c, 8, "threshold", &e.Threshold)
}

// RunnerDisconnected is a session that has no socket.
type RunnerDisconnected struct {
	Session uint64
	Reason  string
	Expires int64      // Unix ms: it is over then, if it has none by then
	Closes  Connection // the socket that is taken for gone, and is closed should it be there; empty: it is known to be gone
}

func (*RunnerDisconnected) number() int { return 110 }

// Fields implements wire.Message.
func (e *RunnerDisconnected) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.String(c, 2, "reason", &e.Reason)
	wire.Int(c, 3, "expires", &e.Expires)
	wire.Nested(c, 4, "closes", &e.Closes)
}

// RunnerDraining is a session that gets no more work, and is over once it has none, or at its time.
type RunnerDraining struct {
	Session  uint64
	Reason   string
	Expires  int64 // Unix ms
	By       By    // an operator; empty: the runner itself
	Upgraded bool  // a runner of a newer version has come
}

func (*RunnerDraining) number() int { return 111 }

// Fields implements wire.Message.
func (e *RunnerDraining) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.String(c, 2, "reason", &e.Reason)
	wire.Int(c, 3, "expires", &e.Expires)
	wire.Nested(c, 4, "by", &e.By)
	c.Bool(5, "upgraded", &e.Upgraded)
}

// RunnerStopped is a session that is over. What it still has of work follows as lost.
type RunnerStopped struct {
	Session uint64
	Reason  string
	Closes  Connection // its socket, which is closed; empty: it has none
	Close   string     // for this reason
}

func (*RunnerStopped) number() int { return 112 }

// Fields implements wire.Message.
func (e *RunnerStopped) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.String(c, 2, "reason", &e.Reason)
	wire.Nested(c, 3, "closes", &e.Closes)
	wire.String(c, 4, "close", &e.Close)
}

// RunnerProgressed is how far a session has come: what counted before counts no more.
type RunnerProgressed struct {
	Session  uint64
	Events   uint64 // that have counted, from the first on
	Received uint64 // commands that are acknowledged, from the first on
}

func (*RunnerProgressed) number() int { return 113 }

// Fields implements wire.Message.
func (e *RunnerProgressed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.Int(c, 2, "events", &e.Events)
	wire.Int(c, 3, "received", &e.Received)
}

// RunnerPassedOver says whether a connected runner gets new work: one that is silent, or does not confirm what
// it was given, does not.
type RunnerPassedOver struct {
	Session uint64
	Reason  string // empty: it gets work again
}

func (*RunnerPassedOver) number() int { return 114 }

// Fields implements wire.Message.
func (e *RunnerPassedOver) Fields(c *wire.Codec) {
	wire.Int(c, 1, "session", &e.Session)
	wire.String(c, 2, "reason", &e.Reason)
}

// ExecutorHeard is an executor that says that it is there: the sockets that it has are.
type ExecutorHeard struct {
	Number   uint64 // of the executor in the pool
	Executor string
	Until    int64 // Unix ms: if it says no more by then, its sockets are taken for gone
}

func (*ExecutorHeard) number() int { return 115 }

// Fields implements wire.Message.
func (e *ExecutorHeard) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Name(c, 2, "executor", &e.Executor)
	wire.Int(c, 3, "until", &e.Until)
}

// ExecutorGone is an executor whose sockets are taken for gone: RunnerDisconnected says so of each.
type ExecutorGone struct{ Number uint64 }

func (*ExecutorGone) number() int { return 116 }

// Fields implements wire.Message.
func (e *ExecutorGone) Fields(c *wire.Codec) { wire.Int(c, 1, "number", &e.Number) }

// ExecutorDisowned is an executor that says that it is there after its sockets were taken for gone, or speaks of a session that the pool does not know:
// it is to close its sockets of the pool, so that their runners connect again.
type ExecutorDisowned struct{ Executor string }

func (*ExecutorDisowned) number() int { return 118 }

// Fields implements wire.Message.
func (e *ExecutorDisowned) Fields(c *wire.Codec) { wire.Name(c, 1, "executor", &e.Executor) }

// PoolSwept is what a pool does not remember any more.
type PoolSwept struct {
	Sessions    []uint64 // that were over
	Forestalled []uint64 // offers
	Gone        bool     // there is nothing left: its rows are removed
}

func (*PoolSwept) number() int { return 117 }

// Fields implements wire.Message.
func (e *PoolSwept) Fields(c *wire.Codec) {
	wire.Ints(c, 1, "sessions", &e.Sessions)
	wire.Ints(c, 2, "forestalled", &e.Forestalled)
	c.Bool(3, "gone", &e.Gone)
}

// AttemptAsked is an open attempt whose pool is asked whether it has it: an offer, or what became of it, may be lost.
type AttemptAsked struct{ Runnable RunnableID }

func (*AttemptAsked) number() int { return 123 }

// Fields implements wire.Message.
func (e *AttemptAsked) Fields(c *wire.Codec) { wire.Int(c, 1, "runnable", &e.Runnable) }

// AttemptDisowned is an attempt that a pool asks about and that is not open, which is withdrawn.
type AttemptDisowned struct {
	Pool  string // id
	Token []byte
}

func (*AttemptDisowned) number() int { return 124 }

// Fields implements wire.Message.
func (e *AttemptDisowned) Fields(c *wire.Codec) {
	wire.Name(c, 1, "pool", &e.Pool)
	c.Bytes(2, "token", &e.Token)
}
