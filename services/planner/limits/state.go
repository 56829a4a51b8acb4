package limits

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// head is what a key is at. It is there from its first request until nothing is left to
// remember.
type head struct {
	Applied events.Position
	Next    uint64 // the number of the newest request
	Queued  uint64 // requests that wait
	Held    uint64 // permits that are not given back
	Swept   uint64 // the holder that was looked after last, in a sweep that goes on
	Due     int64  // Unix ms of the timer; 0: there is none
	Sweep   int64  // Unix ms of the next sweep; 0: nobody holds anything
	Limit   events.KeyLimit

	// Of a rate.
	Granted   uint64 // permits
	Forgotten uint64 // of those: when they were granted is not remembered any more
	Last      int64  // Unix ms of the newest

	Breaker breaker // of a breaker
}

// Fields implements wire.Message.
func (h *head) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "applied", &h.Applied)
	wire.Int(c, 2, "next", &h.Next)
	wire.Int(c, 3, "queued", &h.Queued)
	wire.Int(c, 4, "held", &h.Held)
	wire.Int(c, 5, "swept", &h.Swept)
	wire.Int(c, 6, "due", &h.Due)
	wire.Int(c, 7, "sweep", &h.Sweep)
	wire.Nested(c, 8, "limit", &h.Limit)
	wire.Int(c, 9, "granted", &h.Granted)
	wire.Int(c, 10, "forgotten", &h.Forgotten)
	wire.Int(c, 11, "last", &h.Last)
	wire.Nested(c, 12, "breaker", &h.Breaker)
}

// permit is a request that waits, in the queue, or what it was granted, among the holders.
type permit struct {
	ID    events.PermitID
	Since int64 // Unix ms
}

// Fields implements wire.Message.
func (p *permit) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "id", &p.ID)
	wire.Int(c, 2, "since", &p.Since)
}

// request is where a request is found by its id.
type request struct {
	Number uint64
	Rank   uint8
	Issued bool
	Turn   uint64 // of a breaker, as its permit was granted
}

// Fields implements wire.Message.
func (n *request) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &n.Number)
	wire.Int(c, 2, "rank", &n.Rank)
	c.Bool(3, "issued", &n.Issued)
	wire.Int(c, 4, "turn", &n.Turn)
}

func headKey(id string) rows.Key { return rows.Key{Table: rows.Header, Workflow: id} }

func holderKey(id string, n uint64) rows.Key {
	return rows.Key{Table: rows.Fact, Workflow: id, A: n}
}

func queueKey(id string, rank uint8, n uint64) rows.Key {
	return rows.Key{Table: rows.Ready, Workflow: id, A: uint64(rank), B: n}
}

func knownKey(id string, p events.PermitID) rows.Key {
	return rows.Key{Table: rows.Match, Workflow: id, Sub: p.String()}
}

func timerKey(id string, due int64) rows.Key {
	return rows.Key{Table: rows.Timer, A: uint64(due), Workflow: id, C: machine.TimerKey}
}

// h is the head for changing.
func (t *turn) h() *head {
	t.head = rows.Change[head](t.tx, headKey(t.id))
	return t.head
}

// known is a request by its id; nil: there is none.
func (t *turn) known(p events.PermitID) *request {
	return rows.Get[request](t.tx, knownKey(t.id, p))
}

// apply changes the state by one event: one line per event. What is replayed may be of a key
// that has gone since, and changes nothing then.
func (t *turn) apply(e events.Event) {
	switch e := e.(type) {
	case *events.PermitQueued:
		t.queued(e)
	case *events.PermitIssued:
		t.issued(e)
	case *events.PermitOver:
		t.over(e)
	case *events.PermitDenied:
		t.denied(e)
	case *events.BreakerTurned:
		t.turned(e)
	case *events.KeySwept:
		t.swept(e)
	case *events.CommandRefused: // of the history only
	default:
		panic("event without a meaning for keys: " + events.Name(e))
	}
}

// create makes a key that has no rows.
func (t *turn) create() {
	t.head = &head{}
	t.tx.Create(headKey(t.id), t.head)
	t.tx.Create(machine.EntityKey(t.id), &machine.Listed{})
}

// remove leaves nothing of a key that has nothing to remember.
func (t *turn) remove() {
	t.arm(0)
	t.tx.Delete(headKey(t.id))
	t.tx.Delete(machine.EntityKey(t.id))
	t.head = nil
}

func (t *turn) queued(e *events.PermitQueued) {
	if t.head == nil {
		t.create()
	}
	h := t.h()
	h.Next, h.Limit = e.Number, e.Limit
	if t.breaks() {
		h.Breaker.Used = t.now
	}
	h.Queued++
	t.tx.Put(queueKey(t.id, e.Rank, e.Number), &permit{ID: e.Permit, Since: t.now})
	t.tx.Put(knownKey(t.id, e.Permit), &request{Number: e.Number, Rank: e.Rank})
}

func (t *turn) issued(e *events.PermitIssued) {
	n := t.known(e.Permit)
	if n == nil || n.Issued {
		return
	}
	if t.rate() {
		t.spend(e, n)
		return
	}
	h := t.h()
	h.Queued--
	h.Held++
	if h.Sweep == 0 {
		h.Sweep = t.now + Lease.Milliseconds()
	}
	t.tx.Delete(queueKey(t.id, n.Rank, n.Number))
	t.tx.Put(holderKey(t.id, n.Number), &permit{ID: e.Permit, Since: t.now})
	n = rows.Change[request](t.tx, knownKey(t.id, e.Permit))
	n.Issued = true
	if t.breaks() {
		h.Breaker.lent(n)
	}
}

func (t *turn) over(e *events.PermitOver) {
	n := t.known(e.Permit)
	if n == nil {
		return
	}
	h := t.h()
	if t.breaks() {
		h.Breaker.back(n, e.Verdict)
		h.Breaker.Used = t.now
	}
	if n.Issued {
		t.tx.Delete(holderKey(t.id, n.Number))
		if h.Held--; h.Held == 0 {
			h.Sweep, h.Swept = 0, 0
		}
	} else {
		h.Queued--
		t.tx.Delete(queueKey(t.id, n.Rank, n.Number))
	}
	t.tx.Delete(knownKey(t.id, e.Permit))
}

func (t *turn) swept(e *events.KeySwept) {
	switch {
	case t.head == nil:
	case e.Gone:
		t.remove()
	case t.rate():
		t.forget(e.After)
	default:
		h := t.h()
		h.Swept, h.Sweep = e.After, t.now
		if e.After == 0 {
			h.Sweep += Lease.Milliseconds()
		}
	}
}

// finish closes a record, live or replayed: the timer is for what the key waits for now.
func (t *turn) finish() {
	if t.head == nil {
		return
	}
	t.h().Applied = t.at
	if due := t.next(); due != t.head.Due {
		t.arm(due)
	}
}

// next is when a key has something to do; 0: when it is told something.
func (t *turn) next() int64 {
	h := t.head
	switch {
	case t.rate():
		return t.nextOfRate()
	case h.Queued > 0 && t.room() > 0:
		return t.now
	case t.breaks() && (h.Breaker.State == events.BreakerOpen || h.Queued+h.Held == 0):
		return earliest(h.Sweep, h.Breaker.due())
	}
	return h.Sweep
}

// earliest is the earlier of two times, of which either may be none, which is 0.
func earliest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// arm sets the one timer; 0: there is none.
func (t *turn) arm(due int64) {
	h := t.h()
	if h.Due != 0 {
		t.tx.Delete(timerKey(t.id, h.Due))
	}
	if h.Due = due; due != 0 {
		t.tx.Put(timerKey(t.id, due), &machine.Timer{})
	}
}
