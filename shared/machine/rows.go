package machine

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Kinds of timers: field C of a Timer key. The key's A is the due time (Unix
// ms), Workflow the workflow, B the runnable (0: the workflow itself) or what the kind says.
const (
	TimerWake    = 1 // a sleep ends, a retry or returned attempt is due
	TimerTimeout = 2 // an attempt's time is over; guarded
	TimerDrain   = 3 // the drain limit of a stopping workflow; guarded
	TimerGiveUp  = 4 // nothing has come that a runnable waits for; guarded
	TimerSignal  = 5 // a signal that nobody has taken expires; B is its number
	TimerStart   = 6 // no worker has begun a runnable's attempt in time; guarded
	TimerWhole   = 7 // the time of a runnable as a whole is over; guarded
	TimerSilent  = 8 // a runnable's attempt has given no heartbeat in time; guarded

	TimerKey = 10 // a key has permits to grant, or holders to ask

	TimerRetain = 13 // a workflow at rest is kept no longer; guarded
	TimerNotice = 14 // an entity notice: has waited long enough
	TimerPool   = 15 // a pool has something to look after; guarded
)

// Guarded reports whether timers of a kind must not overtake outcomes.
func Guarded(kind uint64) bool {
	switch kind {
	case TimerTimeout, TimerDrain, TimerGiveUp, TimerStart, TimerWhole, TimerSilent, TimerRetain, TimerPool:
		return true
	}
	return false
}

// Timer is the row of a durable timer. The machine writes and deletes it; the
// partition fires it.
type Timer struct {
	Attempt uint32 // TimerTimeout: the attempt it guards
}

// Fields implements wire.Message.
func (t *Timer) Fields(c *wire.Codec) { wire.Int(c, 1, "attempt", &t.Attempt) }

// Attempt is an open attempt that a worker has or should get (external ones are
// none). The partition guards its delivery and liveness.
type Attempt struct {
	Attempt  uint32
	Decided  events.Position
	Queue    string
	Since    int64 // Unix ms of the dispatch
	Notified bool  // a worker has it: heartbeats guard it
	Detached bool  // completed by its token: nothing guards it

	NotifiedAt int64  // Unix ms of the first such word
	Pool       string // id of the pool that has it; empty: its task went to the workers of its queue
	Waits      bool   // a worker has it, and has not handed it over to whom it is for: it is pending
	Deferred   bool   // as the party that it is to inform is not there
}

// Watched is a row of table Runnable: the partition watches the open attempt in
// it, live by the rows that records write, and at recovery by reading the table.
type Watched interface {
	wire.Message
	// OpenAttempt is the attempt that is open, if one is.
	OpenAttempt() (a Attempt, open bool)
}

// OpenAttempt implements Watched: an Attempt may be a row by itself.
func (a *Attempt) OpenAttempt() (Attempt, bool) { return *a, true }

// Fields implements wire.Message.
func (a *Attempt) Fields(c *wire.Codec) {
	wire.Int(c, 1, "attempt", &a.Attempt)
	wire.Nested(c, 2, "decided", &a.Decided)
	wire.String(c, 3, "queue", &a.Queue)
	wire.Int(c, 4, "since", &a.Since)
	c.Bool(5, "notified", &a.Notified)
	c.Bool(6, "detached", &a.Detached)
	wire.Int(c, 7, "notified_at", &a.NotifiedAt)
	c.Bool(8, "waits", &a.Waits)
	c.Bool(9, "deferred", &a.Deferred)
	wire.Name(c, 10, "pool", &a.Pool)
}
