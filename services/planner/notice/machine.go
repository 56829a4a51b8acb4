package notice

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Kind is what the ids of notices begin with, up to the colon.
const Kind = "notice"

// Machine is the machine of notices. It belongs to one goroutine.
type Machine struct{ sealer *events.Sealer }

var (
	_ machine.Machine = (*Machine)(nil)
	_ machine.Teller  = (*Machine)(nil)
)

// New makes a machine that seals the tokens of attempts with a key.
func New(key events.Key) *Machine { return &Machine{sealer: events.NewSealer(key)} }

// turn is the work on one record of one entity: deciding it or applying it.
type turn struct {
	m   *Machine
	tx  *rows.Tx
	at  events.Position
	now int64 // Unix ms, the record's time
	id  string

	workflow string // that has drained
	run      events.RunID

	head *head // nil: there is nothing to deliver

	events []events.Event
	ended  []machine.Ended // deliveries that this record ends
}

func (m *Machine) begin(tx *rows.Tx, at events.Position, now int64, id string) *turn {
	t := &turn{m: m, tx: tx, at: at, now: now, id: id, head: rows.Get[head](tx, headKey(id))}
	t.workflow, t.run, _ = events.ParseNotices(id) // of another id nothing is ever taken
	return t
}

// Decide implements machine.Machine.
func (m *Machine) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	t := m.begin(tx, at, now, in.Workflow)
	switch {
	case in.Command != nil:
		t.emit(&events.CommandRefused{Command: in.Command.Name, Code: "unknown_command", Message: "nothing can be asked of what calls a receiver"})
	case in.Inbox != nil:
		t.inbox(in)
	case in.Timer != nil:
		t.timer(*in.Timer)
	case in.Lost != nil:
		t.lost(in.Lost)
	}
	if len(t.events) > 0 {
		t.admit()
		t.finish()
	}
	return t.conclusion(t.events)
}

// Apply implements machine.Machine.
func (m *Machine) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	t := m.begin(tx, rec.Position, rec.Time, rec.Workflow)
	if t.head == nil || t.head.Applied.Before(rec.Position) {
		for _, e := range rec.Events {
			t.apply(e)
		}
		t.finish()
	}
	if guarded {
		return machine.Outcome{}
	}
	return t.conclusion(rec.Events)
}

// Task implements machine.Machine.
func (m *Machine) Task(tx *rows.Tx, id string, a *machine.Attempt, drain events.RunnableID) (machine.Effect, bool) {
	t := m.begin(tx, a.Decided, a.Since, id)
	open, n := t.open(drain), t.notice(uint64(drain))
	if open == nil || n == nil || open.Decided != a.Decided {
		return machine.Effect{}, false
	}
	return t.task(n, open), true
}

// Delivery implements machine.Machine.
func (m *Machine) Delivery(tx *rows.Tx, id string, drain events.RunnableID) (machine.Delivery, bool) {
	t := m.begin(tx, events.Position{}, 0, id)
	a := t.open(drain)
	if a == nil {
		return machine.Delivery{}, false
	}
	return t.deliveryOf(drain, a), true
}

// deliveryOf is the delivery of an open attempt.
func (t *turn) deliveryOf(drain events.RunnableID, a *machine.Attempt) machine.Delivery {
	return machine.Delivery{
		Token: t.token(drain, a), Queue: a.Queue, Since: a.Since, Notified: a.NotifiedAt, Pending: !a.Notified,
	}
}

// RequestID implements machine.Machine.
func (m *Machine) RequestID(t events.Token) string { return events.TokenText(m.sealer.Seal(t)) }

// Watched implements machine.Machine.
func (m *Machine) Watched(string) machine.Watched { return &machine.Attempt{} }

// Query implements machine.Machine.
func (m *Machine) Query(tx *rows.Tx, _ int64, q *events.Query) events.Reply {
	r := events.Reply{ID: q.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone}
	h := rows.Get[head](tx, headKey(q.Workflow))
	if h == nil {
		r.Result = events.ResultRefused
		r.Refusal = &events.Refusal{Code: "not_found", Message: fmt.Sprintf("%q has nothing to deliver", q.Workflow)}
		return r
	}
	r.Body = json.RawMessage(fmt.Sprintf(`{"next":%d,"held":%d,"attempts":%d}`, h.Next, h.Held, h.Attempts))
	return r
}

// conclusion is what the events of a record come to, right behind it.
func (t *turn) conclusion(list []events.Event) machine.Outcome {
	out := machine.Concluded(t.id, list, t.effects(list))
	out.Ended = t.ended
	return out
}

// emit records an event and changes the state by it.
func (t *turn) emit(e events.Event) {
	t.events = append(t.events, e)
	t.apply(e)
}

// said is what a workflow told; false: it can not be read, or makes no call.
func said(m *events.EntityMessage) (*events.Notice, bool) {
	n := &events.Notice{}
	err := wire.Unmarshal(m.Body, n)
	return n, err == nil && (n.Drain == 0 || n.Drain < math.MaxUint32 && n.Confirmed < n.Drain && json.Valid(n.Body))
}
