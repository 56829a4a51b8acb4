package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// usualDispatches and mostDispatches are how many records one answer has.
const (
	usualDispatches = 100
	mostDispatches  = 1000
)

// answer lists dispatch records: those that are pending and notified, the oldest first, then those that have
// ended, the newest first.
func (d *dispatches) answer(q *events.Query) events.Reply {
	list := listing{dispatches: d, status: delivery.State(q.Filter), queue: q.Queue, limit: usualDispatches, records: []delivery.Record{}}
	if q.Limit > 0 {
		list.limit = min(int(q.Limit), mostDispatches)
	}
	list.open(delivery.Pending)
	list.open(delivery.Notified)
	list.ended()
	body, err := json.Marshal(list.records)
	if err != nil {
		panic(err) // contained: texts and numbers only
	}
	return events.Reply{Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone, Body: body}
}

// listing is an answer in the making.
type listing struct {
	*dispatches
	status  delivery.State // empty: any
	queue   string         // empty: any
	limit   int
	records []delivery.Record
}

func (l *listing) wants(status delivery.State) bool { return l.status == "" || l.status == status }

// open lists the open attempts of a status, queue by queue.
func (l *listing) open(status delivery.State) {
	if !l.wants(status) {
		return
	}
	for _, name := range l.watch.backlog.byWaiting() {
		if l.queue != "" && l.queue != name {
			continue
		}
		for at := l.watch.backlog.queues[name].line(status).oldest; at != nil && len(l.records) < l.limit; at = at.newer {
			l.openOne(at)
		}
	}
}

// openOne lists an open attempt, unless what is decided and not in the journal yet has ended it.
func (l *listing) openOne(at *watched) {
	dl, ok := l.Machine.Delivery(l.tx, at.key.workflow, at.key.runnable)
	if !ok || dl.Token.Decided != at.row.Decided {
		return
	}
	r := l.recordOf(&dl)
	if r.Status = delivery.Notified; dl.Pending {
		r.Status = delivery.Pending
	}
	l.records = append(l.records, r)
}

// ended lists the records of deliveries that have ended, and are not too old.
func (l *listing) ended() {
	for _, page := range slices.Backward(l.pages) {
		for i := range slices.Backward(page.row.Records) {
			r := &page.row.Records[i]
			status := statusOfEnded(r)
			if len(l.records) == l.limit || r.At < l.clock.now-endedFor {
				return
			}
			if l.wants(status) && (l.queue == "" || l.queue == r.Queue) {
				l.records = append(l.records, l.recordOfEnded(r))
			}
		}
	}
}

func statusOfEnded(r *machine.Ended) delivery.State {
	if r.Failed {
		return delivery.Failed
	}
	return delivery.Delivered
}

// recordOf shows a delivery, but for its status.
func (l *listing) recordOf(d *machine.Delivery) delivery.Record {
	r := delivery.Record{
		RequestID: l.Machine.RequestID(d.Token), Target: d.Queue, CreatedAt: runtime.FormatTime(time.UnixMilli(d.Since)),
		NotifiedAt: published(d.Notified), AttemptCount: d.Token.Attempt,
		Metadata: &delivery.Metadata{Workflow: d.Token.Workflow, Runnable: d.Token.Runnable.String(), Executor: d.Executor},
	}
	if d.Reason != "" {
		r.Reason = &d.Reason
	}
	return r
}

func (l *listing) recordOfEnded(e *machine.Ended) delivery.Record {
	r := l.recordOf(&e.Delivery)
	if r.Status = statusOfEnded(e); e.Failed {
		r.FailedAt = published(e.At)
	} else {
		r.DeliveredAt = published(e.At)
	}
	return r
}

// removed is what an operator's word to remove records comes to: all of them, or none.
func (d *dispatches) removed(cmd *events.Command, b *events.RemoveDispatch) events.Event {
	for i, id := range b.IDs {
		if refused := d.irremovable(id); refused != nil {
			refused.Command, refused.Path = cmd.Name, fmt.Sprintf("ids[%d]", i)
			return refused
		}
	}
	return &events.DispatchesRemoved{IDs: slices.Sorted(slices.Values(b.IDs)), By: b.By}
}

// irremovable says why a record cannot be removed; nil: it can. One that is open is an attempt, which its workflow
// can be told to cancel or retry.
func (d *dispatches) irremovable(id string) *events.CommandRefused {
	t, err := events.ParseRequestID(id)
	if err != nil {
		return &events.CommandRefused{Code: "invalid_request_id", Message: err.Error()}
	}
	if _, _, ok := d.find(t); ok {
		return nil
	}
	at := d.watch.open[attemptKey{t.Workflow, t.Runnable}]
	if at == nil || at.row.Attempt != t.Attempt || at.row.Decided != t.Decided {
		return &events.CommandRefused{Code: "not_found", Message: (&delivery.NotFound{ID: id}).Error()}
	}
	return &events.CommandRefused{Code: "invalid_transition", Message: at.status().To(delivery.Removed).Error() + ": it is open; cancel, fail or skip its attempt"}
}

// late is what the partition makes of a worker's word that it has an attempt whose delivery had failed before: the
// attempt stays what it is. nil: it is no such word, and the machine is asked.
func (d *dispatches) late(workflow string, msg events.InboxMessage) events.Event {
	m, ok := msg.(*events.TaskNotified)
	if !ok {
		return nil
	}
	t, err := events.PeekToken(m.Token)
	if err != nil || t.Workflow != workflow {
		return nil
	}
	if at := d.watch.open[attemptKey{t.Workflow, t.Runnable}]; at != nil && at.row.Decided == t.Decided {
		return nil // without a look at the records, as for nearly all
	}
	page, place, ok := d.find(t)
	if !ok {
		return nil
	}
	r := &d.pages[page].row.Records[place]
	id, channel := d.Machine.RequestID(t), events.Cut(m.Channel, events.MaxChannel)
	if !r.Failed || r.Reason == channel || id != events.TokenText(m.Token) {
		return nil
	}
	return &events.DeliveryConfirmedLate{ID: id, Reason: channel}
}
