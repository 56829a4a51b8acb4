package machine

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Delivery is the handing of an attempt to a worker, as the machine knows it.
type Delivery struct {
	Token    events.Token
	Queue    string
	Pool     string // id of the pool that it is handed to; empty: to workers of the queue
	Since    int64  // Unix ms of the dispatch
	Notified int64  // Unix ms; 0: no worker has said that it has it
	Executor string // that has it, or that has told its outcome; empty: none
	Reason   string // the channel that a worker has it by, or why it is as it is; empty: nothing was said
	Deferred bool   // it waits for the party that it is to inform
	Pending  bool   // a worker has it, and has not handed it over yet, for Reason
}

// Ended is a delivery that has ended.
type Ended struct {
	Delivery
	At     int64 // Unix ms
	Failed bool  // else its outcome was applied
}

// HandedBack is why a delivery failed whose worker did not know the task, or had not begun: another one follows.
const HandedBack = "handed_back"

// Rebound is why a delivery failed whose queue was bound elsewhere before anybody had begun it: another one follows there.
const Rebound = "rebound"

// Told is the delivery as it has ended: with the time of a notification that came with its outcome, and no more to
// wait for.
func (e Ended) Told() Ended {
	e.Deferred, e.Pending = false, false
	if e.Notified == 0 && !e.Failed {
		e.Notified = e.At
	}
	return e
}

// Fields implements wire.Message.
func (e *Ended) Fields(c *wire.Codec) {
	wire.String(c, 1, "workflow", &e.Token.Workflow)
	wire.Nested(c, 2, "run", &e.Token.Run)
	wire.Int(c, 3, "runnable", &e.Token.Runnable)
	wire.Int(c, 4, "attempt", &e.Token.Attempt)
	wire.Nested(c, 5, "decided", &e.Token.Decided)
	wire.String(c, 6, "queue", &e.Queue)
	wire.Int(c, 7, "since", &e.Since)
	wire.Int(c, 8, "notified", &e.Notified)
	wire.String(c, 9, "executor", &e.Executor)
	wire.String(c, 10, "reason", &e.Reason)
	wire.Int(c, 11, "at", &e.At)
	c.Bool(12, "failed", &e.Failed)
}
