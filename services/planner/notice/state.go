package notice

import (
	"math"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// waiting is what the timer of an entity is for. Values are recorded.
type waiting uint8

const (
	forRetry        waiting = 1 // the next attempt
	forGap          waiting = 2 // an earlier notice that has not come
	forConfirmation waiting = 3 // the word of the workflow that there are no others
)

// head is what an entity is at. It is there from the first notice until the workflow has
// confirmed that all are over: a notice that overtakes one before it is known by that.
type head struct {
	Applied  events.Position
	Next     uint64 // the first notice that is not over
	Held     uint64 // notices that have come and are not over
	Current  uint64 // the notice that was attempted last
	Attempts uint32 // of it
	Failures uint32 // of them
	Took     uint32 // attempts of the notice before it
	Open     bool   // one is open
	Wait     waiting
	Due      int64 // Unix ms of the timer; 0: there is none
}

// Fields implements wire.Message.
func (h *head) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "applied", &h.Applied)
	wire.Int(c, 2, "next", &h.Next)
	wire.Int(c, 3, "held", &h.Held)
	wire.Int(c, 4, "current", &h.Current)
	wire.Int(c, 5, "attempts", &h.Attempts)
	wire.Int(c, 6, "failures", &h.Failures)
	c.Bool(7, "open", &h.Open)
	wire.Int(c, 8, "wait", &h.Wait)
	wire.Int(c, 9, "due", &h.Due)
	wire.Int(c, 10, "took", &h.Took)
}

// notice is one that is not over.
type notice struct {
	events.Notice
	Accepted int64 // Unix ms
}

// Fields implements wire.Message.
func (n *notice) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "notice", &n.Notice)
	wire.Int(c, 2, "accepted", &n.Accepted)
}

func headKey(id string) rows.Key { return rows.Key{Table: rows.Header, Workflow: id} }

func noticeKey(id string, drain uint64) rows.Key {
	return rows.Key{Table: rows.Fact, Workflow: id, A: drain}
}

func attemptKey(id string, drain events.RunnableID) rows.Key {
	return rows.Key{Table: rows.Runnable, Workflow: id, A: uint64(drain)}
}

func timerKey(id string, due int64) rows.Key {
	return rows.Key{Table: rows.Timer, A: uint64(due), Workflow: id, C: machine.TimerNotice}
}

func (t *turn) notice(drain uint64) *notice { return rows.Get[notice](t.tx, noticeKey(t.id, drain)) }

// open is the open attempt to deliver a notice; nil: there is none.
func (t *turn) open(drain events.RunnableID) *machine.Attempt {
	return rows.Get[machine.Attempt](t.tx, attemptKey(t.id, drain))
}

// h is the head for changing.
func (t *turn) h() *head {
	t.head = rows.Change[head](t.tx, headKey(t.id))
	return t.head
}

// apply changes the state by one event: one line per event. Where there is no head, what
// is replayed was removed since, and matters no more.
func (t *turn) apply(e events.Event) {
	if _, begins := e.(*events.NoticeAccepted); t.head == nil && !begins {
		return
	}
	switch e := e.(type) {
	case *events.NoticeAccepted:
		t.accepted(&e.Notice)
	case *events.RunnableDispatched:
		t.dispatched(e)
	case *events.RunnableNotified:
		if t.open(e.Runnable) != nil {
			a := rows.Change[machine.Attempt](t.tx, attemptKey(t.id, e.Runnable))
			a.Notified, a.Detached, a.NotifiedAt = true, e.Detached, e.At
		}
	case *events.RunnableCompleted:
		t.closed(e.Runnable, machine.Ended{Delivery: machine.Delivery{Executor: e.Executor}})
		t.over(uint64(e.Runnable))
	case *events.RunnableFailed:
		t.failed(e.Runnable, e.Action, machine.Ended{Delivery: machine.Delivery{Executor: e.Executor}})
	case *events.RunnableTimedOut:
		t.failed(e.Runnable, e.Action, failedAs(e.Error.Type))
	case *events.RunnableLost:
		t.failed(e.Runnable, e.Action, failedAs(e.Error.Type))
	case *events.RunnableReturned:
		t.closed(e.Runnable, failedAs(machine.HandedBack))
		t.arm(forRetry, e.Due)
	case *events.RetryScheduled:
		t.arm(forRetry, e.Due)
	case *events.TimerFired:
		t.arm(0, 0)
	case *events.NoticesOver:
		h := t.h()
		h.Next = max(h.Next, e.Through+1)
		if e.Gone {
			t.gone()
		}
	case *events.CommandRefused: // of the history only
	default:
		panic("event without a meaning for notices: " + events.Name(e))
	}
}

func (t *turn) accepted(n *events.Notice) {
	if t.head == nil {
		t.head = &head{Next: 1}
		t.tx.Create(headKey(t.id), t.head)
	}
	h := t.h()
	h.Next = max(h.Next, n.Confirmed+1)
	h.Held++
	t.tx.Put(noticeKey(t.id, n.Drain), &notice{Notice: *n, Accepted: t.now})
}

func (t *turn) dispatched(e *events.RunnableDispatched) {
	h := t.h()
	if h.Current != uint64(e.Runnable) {
		h.Failures, h.Took = 0, h.Attempts
	}
	h.Current, h.Attempts, h.Open = uint64(e.Runnable), e.Attempt, true
	t.tx.Put(attemptKey(t.id, e.Runnable), &machine.Attempt{Attempt: e.Attempt, Decided: t.at, Queue: e.Queue, Since: t.now})
}

// failedAs is the end of a delivery that failed.
func failedAs(reason string) machine.Ended {
	return machine.Ended{Delivery: machine.Delivery{Reason: reason}, Failed: true}
}

// closed ends an attempt, whose delivery has ended as end says.
func (t *turn) closed(drain events.RunnableID, end machine.Ended) {
	t.h().Open = false
	if a := t.open(drain); a != nil {
		of := t.deliveryOf(drain, a)
		of.Executor, of.Reason = end.Executor, end.Reason
		end.Delivery, end.At = of, t.now
		t.ended = append(t.ended, end.Told())
	}
	t.tx.Delete(attemptKey(t.id, drain))
}

func (t *turn) failed(drain events.RunnableID, action events.Action, end machine.Ended) {
	t.closed(drain, end)
	t.h().Failures++
	if action != events.ActionRetry {
		t.over(uint64(drain))
	}
}

// over ends a notice, delivered or given up.
func (t *turn) over(drain uint64) {
	h := t.h()
	if t.notice(drain) != nil {
		h.Held--
	}
	t.tx.Delete(noticeKey(t.id, drain))
	h.Next = max(h.Next, drain+1)
}

// gone removes all rows.
func (t *turn) gone() {
	t.arm(0, 0)
	var keys []rows.Key
	rows.Scan(t.tx, noticeKey(t.id, 0), func(k rows.Key, _ *notice) bool { keys = append(keys, k); return true })
	rows.Scan(t.tx, attemptKey(t.id, 0), func(k rows.Key, _ *machine.Attempt) bool { keys = append(keys, k); return true })
	for _, k := range append(keys, headKey(t.id)) {
		t.tx.Delete(k)
	}
	t.head = nil
}

// arm sets what is waited for, and the one timer for it; 0: nothing is.
func (t *turn) arm(what waiting, due int64) {
	h := t.h()
	if h.Due != 0 {
		t.tx.Delete(timerKey(t.id, h.Due))
	}
	h.Wait, h.Due = what, due
	if due != 0 {
		t.tx.Put(timerKey(t.id, due), &machine.Timer{})
	}
}

// finish closes a record, live or replayed: the timer is for what the entity waits for now.
func (t *turn) finish() {
	if t.head == nil {
		return
	}
	t.h().Applied = t.at
	what, span := t.waits()
	switch what {
	case t.head.Wait:
	case 0:
		t.arm(0, 0)
	default:
		t.arm(what, t.now+span.Milliseconds())
	}
}

// first is the first notice that has come and is not over.
func (t *turn) first() (drain uint64) {
	drain = math.MaxUint64
	rows.Scan(t.tx, noticeKey(t.id, 0), func(k rows.Key, _ *notice) bool { drain = k.A; return false })
	return drain
}
