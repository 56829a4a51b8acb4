package taker

import (
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// end produces the outcome of an attempt. A second outcome changes nothing.
func (t *Taker) end(a *Attempt, o *events.TaskOutcome) {
	a.reports.Lock()
	defer a.reports.Unlock()
	if a.ended {
		return
	}
	a.ended = true
	if o.Outcome != events.OutcomeCompleted {
		t.flushDetails(a)
	}
	t.report(a, o, len(o.Result), func() { t.ledger.settle(a, time.Now()) })
}

// detach reports that an attempt is completed by its token from now on: nothing
// guards it any more.
func (t *Taker) detach(a *Attempt) {
	a.reports.Lock()
	defer a.reports.Unlock()
	if a.ended {
		return
	}
	a.ended = true
	t.flushDetails(a)
	n := &events.TaskNotified{Token: a.Spec.Token, Channel: t.config.Channel, Executor: t.config.Name, Detached: true}
	t.report(a, n, 0, func() { t.ledger.settle(a, time.Now()) })
}

// notify reports that the attempt runs longer than the grace. The caller holds
// a.reports.
func (t *Taker) notify(a *Attempt, now time.Time) {
	a.notified = true
	a.nextBeat, a.lastBeat = now.Add(t.config.Heartbeat), now
	n := &events.TaskNotified{Token: a.Spec.Token, Channel: t.config.Channel, Executor: t.config.Name}
	t.report(a, n, 0, func() { t.ledger.release(a) })
}

// beat reports that the attempt still runs, and its new details. The caller
// holds a.reports.
func (t *Taker) beat(a *Attempt, now time.Time) {
	a.nextBeat, a.lastBeat = now.Add(t.config.Heartbeat), now
	b := &events.TaskHeartbeat{Token: a.Spec.Token}
	if a.unsent {
		b.Details, a.unsent = a.details, false
	}
	t.report(a, b, len(b.Details), func() {})
}

// flushDetails reports details that would otherwise be lost with the attempt.
// Heartbeats are of notified attempts only.
func (t *Taker) flushDetails(a *Attempt) {
	if !a.unsent {
		return
	}
	now := time.Now()
	if !a.notified {
		t.notify(a, now)
	}
	t.beat(a, now)
}

// report produces a message about an attempt to the workflow's inbox partition
// and calls acknowledged once the broker has it. size is a hint.
func (t *Taker) report(a *Attempt, m events.InboxMessage, size int, acknowledged func()) {
	value := wire.Append(make([]byte, 0, size+len(a.Spec.Token)+len(t.config.Name)+64), &events.Inbox{Message: m})
	t.produce(kafka.Keyed(t.names.Inbox(), []byte(a.Workflow), value), func(err error) {
		if kafka.IsTooLarge(err) {
			if o, ok := m.(*events.TaskOutcome); ok && o.Outcome == events.OutcomeCompleted {
				t.tooLarge(o, len(o.Result))
				t.report(a, o, 0, acknowledged)
				return
			}
		}
		acknowledged()
	})
}

// produce sends a record and calls done when it is acknowledged, or can never
// be because it is too large. Other failures are tried again until Run ends:
// nothing may be committed past an attempt whose report is not known (E3).
func (t *Taker) produce(r *kgo.Record, done func(error)) {
	t.producer.Produce(t.base, r, func(r *kgo.Record, err error) {
		switch {
		case err == nil, kafka.IsTooLarge(err):
			done(err)
		case errors.Is(err, kgo.ErrClientClosed):
		default:
			t.log.Error("a report was refused; it is sent again", "topic", r.Topic, "workflow", string(r.Key), "error", err)
			t.unproduced.add(unsent{r, done})
		}
	})
}

// unproduced are the reports that wait to be sent again, in order.
type unproduced struct {
	mu      sync.Mutex
	records []unsent
}

type unsent struct {
	record *kgo.Record
	done   func(error)
}

func (u *unproduced) add(r unsent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.records = append(u.records, r)
}

func (u *unproduced) take() []unsent {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.records
	u.records = nil
	return out
}
