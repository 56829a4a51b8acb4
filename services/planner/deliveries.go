package planner

import (
	"cmp"
	"encoding/json"

	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Delivery implements machine.Machine.
func (p *Planner) Delivery(tx *rows.Tx, workflow string, id events.RunnableID) (machine.Delivery, bool) {
	t := p.begin(tx, events.Position{}, 0, workflow)
	r := t.runs.get(id)
	if t.head == nil || r == nil || !r.delivered() {
		return machine.Delivery{}, false
	}
	return t.runs.deliveryOf(id, r), true
}

// RequestID implements machine.Machine.
func (p *Planner) RequestID(t events.Token) string { return events.TokenText(p.sealer.Seal(t)) }

// deliveryOf is the delivery of the open attempt of a runnable.
func (rs *runnables) deliveryOf(id events.RunnableID, r *runnable) machine.Delivery {
	return machine.Delivery{
		Token: events.Token{Workflow: rs.id, Run: rs.head.Run, Runnable: id, Attempt: r.Attempt, Decided: r.Decided},
		Queue: r.Queue, Pool: r.Pool, Since: r.Since, Notified: r.Told, Executor: r.Executor, Reason: r.Reason,
		Deferred: r.reason() == delivery.LeaderMissingDeferred, Pending: !r.Notified || r.reason().Waits(),
	}
}

// reason is that of the open attempt's delivery to a program that must be prodded; another one than those
// of package delivery is the channel that its worker has it by.
func (r *runnable) reason() delivery.Reason { return delivery.Reason(r.Reason) }

// reasonIn is the reason of a delivery that the details of a heartbeat tell of, which name its state, too; empty: they tell of none.
// Details are whatever a task gives: a reason alone is its own word.
func reasonIn(details json.RawMessage) delivery.Reason {
	var told struct {
		Delivery delivery.State `json:"delivery"`
		Reason   string         `json:"reason"`
	}
	if json.Unmarshal(details, &told) != nil {
		return ""
	}
	reason, ok := delivery.ParseReason(told.Reason)
	if !ok || told.Delivery != reason.State() {
		return ""
	}
	return reason
}

// ofDelivery is what is told of handing the work to a program that must be prodded, behind what is said of
// the attempt; empty: nothing.
func (r *runnable) ofDelivery() string {
	if reason, ok := delivery.ParseReason(r.Reason); ok {
		return "; its delivery: " + string(reason)
	}
	return ""
}

// conclude says what has become of the deliveries that an event has ended, from one of them on.
func (w *workflow) conclude(from int, e events.Event) {
	for i := range w.endings[from:] {
		end := &w.endings[from+i]
		failed, reason, executor := endOf(e)
		end.Failed, end.Reason, end.Executor = failed, cmp.Or(reason, end.Reason), cmp.Or(executor, end.Executor)
		*end = end.Told()
	}
}

// endOf is what the event that closes an attempt says of its delivery: whether it failed, for which reason, if it tells
// another one than is known, and who told it.
func endOf(e events.Event) (failed bool, reason, executor string) {
	switch e := e.(type) {
	case *events.RunnableCompleted:
		return false, "", e.Executor
	case *events.ProbeAnswered:
		return false, "", e.Executor
	case *events.RunnableFailed:
		if reason, ok := delivery.ParseReason(e.Error.Type); ok && !reason.Waits() {
			return true, string(reason), e.Executor
		}
		return false, "", e.Executor
	case *events.RunnableParked:
		return false, "", ""
	case *events.RunnableTimedOut:
		return true, e.Error.Type, ""
	case *events.RunnableLost:
		return true, e.Error.Type, ""
	case *events.RunnableReturned:
		if e.Attempt != 0 {
			return true, machine.Rebound, ""
		}
		return true, machine.HandedBack, ""
	}
	return true, events.ErrorCancelled, ""
}
