package worker

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// report is a message about an attempt on its way to the workflow's inbox
// partition. It is sent once: the client may look at a record that it failed.
// One that was acknowledged is used again.
type report struct {
	attempt *Attempt
	inbox   events.Inbox
	outcome events.TaskOutcome // room for the message of an end
	record  kgo.Record
	room    []byte                   // for the record's key and value
	promise func(*kgo.Record, error) // produced, bound once
	misfits int                      // how often its batch was refused as too large
}

// maxRoom bounds the bytes that a report keeps for its next use.
const maxRoom = 1 << 10

// reports are those that may be used again.
var reports sync.Pool

func newReport() *report {
	if r, ok := reports.Get().(*report); ok {
		return r
	}
	r := &report{}
	r.promise = r.produced
	return r
}

// recycle gives an acknowledged report back: nobody refers to it or its record.
func (r *report) recycle() {
	room := r.room
	if cap(room) > maxRoom {
		room = nil
	}
	*r = report{room: room, promise: r.promise}
	reports.Put(r)
}

// end produces the outcome of an attempt. A second outcome changes nothing.
func (t *Worker) end(a *Attempt, o events.TaskOutcome, now time.Time) {
	a.reports.Lock()
	defer a.reports.Unlock()
	if a.ended {
		return
	}
	a.ended = true
	if o.Outcome != events.OutcomeCompleted {
		t.flushDetails(a, now)
	}
	r := newReport()
	r.outcome = o
	t.send(r, a, &r.outcome, now)
}

// detach reports that an attempt is completed by its token from now on: nothing
// guards it any more.
func (t *Worker) detach(a *Attempt, now time.Time) {
	a.reports.Lock()
	defer a.reports.Unlock()
	if a.ended {
		return
	}
	a.ended, a.detached = true, true
	t.flushDetails(a, now)
	t.send(newReport(), a, t.notification(a, true), now)
}

// EndLater tells of the end of an attempt that its handler has left to its token (ErrPending), as a handler would by a result or an
// error: whoever was to tell of it is known not to. Where it was told before, that stands. False: the handler has not left the attempt yet.
func (a *Attempt) EndLater(result json.RawMessage, err error) bool {
	t := a.pool.worker
	o, _ := t.outcome(a, result, err)
	now := time.Now()
	o.Started, o.Finished = a.started.UnixMilli(), now.UnixMilli()
	a.reports.Lock()
	defer a.reports.Unlock()
	if a.detached {
		a.detached = false
		r := newReport()
		r.outcome = o
		t.send(r, a, &r.outcome, now)
	}
	return a.ended
}

// announce reports that the attempt has begun.
func (t *Worker) announce(a *Attempt) {
	a.reports.Lock()
	defer a.reports.Unlock()
	if !a.ended && !a.notified() {
		t.notify(a, time.Now())
	}
}

// notify reports that the attempt has begun, as it runs longer than the grace or there was a
// limit to that. The caller holds a.reports.
func (t *Worker) notify(a *Attempt, now time.Time) {
	g := a.guarded()
	g.notified = true
	g.nextBeat, g.lastBeat = now.Add(t.config.Heartbeat), now
	t.send(newReport(), a, t.notification(a, false), now)
}

func (t *Worker) notification(a *Attempt, detached bool) *events.TaskNotified {
	return &events.TaskNotified{Token: a.Spec.Token, Channel: t.config.Channel, Executor: t.config.Name, Detached: detached}
}

// beat reports that the attempt still runs, and its new details. The caller
// holds a.reports.
func (t *Worker) beat(a *Attempt, now time.Time) {
	g := a.guarded()
	g.nextBeat, g.lastBeat = now.Add(t.config.Heartbeat), now
	b := &events.TaskHeartbeat{Token: a.Spec.Token}
	if g.unsent {
		b.Details, g.unsent = g.details, false
	}
	t.send(newReport(), a, b, now)
}

// flushDetails reports details that would otherwise be lost with the attempt.
// Heartbeats are of notified attempts only.
func (t *Worker) flushDetails(a *Attempt, now time.Time) {
	if a.guard == nil || !a.guard.unsent {
		return
	}
	if !a.notified() {
		t.notify(a, now)
	}
	t.beat(a, now)
}

// send makes r the report of a message about an attempt and produces it, until
// it is acknowledged, or can never be because it is too large. Other failures
// are tried again until Run ends: nothing may be committed past an attempt whose
// report is not known.
func (t *Worker) send(r *report, a *Attempt, m events.InboxMessage, now time.Time) {
	r.attempt, r.inbox.Message = a, m
	key := len(a.Workflow)
	r.room = wire.Append(append(r.room[:0], a.Workflow...), &r.inbox)
	r.record = *kafka.Keyed(t.inbox, r.room[:key:key], r.room[key:], kafka.InboxFormat...)
	r.record.Timestamp = now
	t.tracker.report(len(r.room))
	t.produce(t.base, &r.record, r.promise)
}

// produced is told how the sending of its report ended.
func (r *report) produced(_ *kgo.Record, err error) {
	t := r.attempt.pool.worker
	switch {
	case err == nil:
		t.tracker.reported(len(r.room))
		t.acknowledged(r.attempt, r.inbox.Message)
		r.recycle()
	case kafka.IsTooLarge(err):
		t.misfit(r)
	case errors.Is(err, kgo.ErrClientClosed):
	default:
		if t.unproduced.add(r) == 1 { // one line stands for all that wait
			t.log.Error("a report was refused; it is sent again", "topic", r.record.Topic, "workflow", r.attempt.Workflow, "error", err)
		}
	}
}

// acknowledged notes what the planner is sure to read about an attempt.
func (t *Worker) acknowledged(a *Attempt, m events.InboxMessage) {
	switch m := m.(type) {
	case *events.TaskOutcome:
		t.tracker.settle(a)
	case *events.TaskNotified:
		if m.Detached {
			t.tracker.settle(a)
		} else {
			t.tracker.release(a)
		}
	case *events.TaskHeartbeat:
	}
}

// unproduced are the reports that wait to be sent again, in order.
type unproduced struct {
	mu      sync.Mutex
	reports []*report
}

// add says how many wait now.
func (u *unproduced) add(rs ...*report) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reports = append(u.reports, rs...)
	return len(u.reports)
}

func (u *unproduced) take() []*report {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.reports
	u.reports = nil
	return out
}
