package limits

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Kind is what the ids of keys begin with, up to the colon.
const Kind = "key"

// Lease is how long a holder of a permit is left alone before its workflow is asked whether it
// holds it still. Silence means that it does.
const Lease = time.Minute

// mostEach bounds the permits that one record grants, and the holders that it looks at.
const mostEach = 128

// Machine is the machine of keys.
type Machine struct{}

var _ machine.Machine = Machine{}

// turn is the work on one record of one key: deciding it or applying it.
type turn struct {
	tx  *rows.Tx
	at  events.Position
	now int64 // Unix ms, the record's time
	id  string

	head *head // nil: there is nothing to remember

	events []events.Event
}

func begin(tx *rows.Tx, at events.Position, now int64, id string) *turn {
	return &turn{tx: tx, at: at, now: now, id: id, head: rows.Get[head](tx, headKey(id))}
}

// Decide implements machine.Machine.
func (Machine) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	t := begin(tx, at, now, in.Workflow)
	switch {
	case in.Command != nil:
		t.emit(&events.CommandRefused{Command: in.Command.Name, Code: "unknown_command", Message: "a key takes no commands"})
		return t.conclusion(t.events)
	case in.Inbox != nil:
		if m, is := in.Inbox.(*events.EntityMessage); is {
			t.told(m)
		}
	case in.Timer != nil && !t.due(*in.Timer):
		return machine.Outcome{} // it was overtaken
	case in.Timer != nil && t.head.rate():
		t.sweepRate()
	case in.Timer != nil && t.head.Sweep != 0 && t.head.Sweep <= now:
		t.sweep()
	}
	if len(t.events) > 0 || in.Timer != nil {
		t.grant()
		t.rest()
		if len(t.events) > 0 {
			t.finish()
		}
	}
	return t.conclusion(t.events)
}

// Apply implements machine.Machine.
func (Machine) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	t := begin(tx, rec.Position, rec.Time, rec.Workflow)
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

// Task implements machine.Machine: a key has none.
func (Machine) Task(*rows.Tx, string, *machine.Attempt, events.RunnableID) (machine.Effect, bool) {
	return machine.Effect{}, false
}

// Watched implements machine.Machine.
func (Machine) Watched(string) machine.Watched { return &machine.Attempt{} }

// told takes what a workflow says. Each of its words may come again, late, or before the one
// that it said before: a request is known by its id, and a return of what is not known is nothing.
// A request that comes behind its return is granted, and its workflow gives that back.
func (t *turn) told(m *events.EntityMessage) {
	said := events.KeyMessage{}
	if wire.Unmarshal(m.Body, &said) != nil || events.CheckWorkflowID(m.From) != nil {
		return // whoever it was, no workflow said so
	}
	kind, _, err := events.ParseKeyID(t.id)
	if err != nil || said.Verb == events.KeyAsk && !sound(kind, said.Limit) {
		return // no workflow asks such a one, or so
	}
	id := events.PermitID{Workflow: m.From, Runnable: said.Runnable, Asked: said.Asked}
	request := t.known(id)
	switch {
	case said.Verb == events.KeyAsk && request == nil:
		next := uint64(1)
		if t.head != nil {
			next = t.head.Next + 1
		}
		t.emit(&events.PermitQueued{Number: next, Rank: said.Rank, Permit: id, Limit: said.Limit})
	case said.Verb == events.KeyReturn && request != nil:
		t.emit(&events.PermitOver{Number: request.Number, Permit: id})
	}
}

// sound reports whether a limit is one of a kind of key.
func sound(kind string, l events.KeyLimit) bool {
	return l.Limit > 0 && l.Limit <= policy.MaxKeyLimit &&
		(l.Per > 0) == (kind == events.RateKey) && l.Per <= uint64(policy.MaxPer.Milliseconds())
}

// due reports whether a timer is the one that the key has: it sweeps, or grants what did not fit
// into the record before.
func (t *turn) due(k rows.Key) bool { return t.head != nil && t.head.Due == int64(k.A) }

// sweep asks the holders that have had their permits for a lease.
func (t *turn) sweep() {
	e, looked := events.KeySwept{}, 0
	rows.Scan(t.tx, holderKey(t.id, t.head.Swept+1), func(k rows.Key, p *permit) bool {
		looked++
		if p.Since <= t.now-Lease.Milliseconds() {
			e.Asked = append(e.Asked, p.ID)
		}
		e.After = k.A
		return looked < mostEach
	})
	if looked < mostEach {
		e.After = 0
	}
	t.emit(&e)
}

// room is how many permits there are to grant in one record.
func (t *turn) room() uint64 {
	if t.head.rate() {
		return t.allowed(min(t.head.Queued, mostEach))
	}
	return min(max(t.head.Limit.Limit, t.head.Held)-t.head.Held, mostEach)
}

// sweepRate forgets permits that are too old to matter.
func (t *turn) sweepRate() {
	if h := t.head; t.past() {
		t.emit(&events.KeySwept{After: min(h.Granted, h.Forgotten+mostEach)})
	}
}

// first are the requests whose turn it is, at most so many.
func (t *turn) first(most uint64) (list []*events.PermitIssued) {
	if most == 0 {
		return nil
	}
	rows.Scan(t.tx, rows.Key{Table: rows.Ready, Workflow: t.id}, func(k rows.Key, p *permit) bool {
		list = append(list, &events.PermitIssued{Number: k.B, Permit: p.ID})
		return uint64(len(list)) < most
	})
	return list
}

// grant grants what there is, in order of priority and arrival.
func (t *turn) grant() {
	if t.head == nil || t.head.Queued == 0 {
		return
	}
	for _, e := range t.first(t.room()) {
		t.emit(e)
	}
}

// rest ends a key that has nothing to remember.
func (t *turn) rest() {
	if h := t.head; h != nil && h.Queued+h.Held == 0 && h.Granted == h.Forgotten {
		t.emit(&events.KeySwept{Gone: true})
	}
}

// emit records an event and changes the state by it.
func (t *turn) emit(e events.Event) {
	t.events = append(t.events, e)
	t.apply(e)
}

// effects are what follows from events: what workflows are told.
func effects(list []events.Event) (all []machine.Effect) {
	for _, e := range list {
		switch e := e.(type) {
		case *events.PermitIssued:
			all = append(all, say(events.KeyGrant, e.Permit))
		case *events.KeySwept:
			for _, id := range e.Asked {
				all = append(all, say(events.KeyInquire, id))
			}
		}
	}
	return all
}

func say(verb events.KeyVerb, id events.PermitID) machine.Effect {
	m := events.KeyMessage{Verb: verb, Runnable: id.Runnable, Asked: id.Asked}
	return machine.Effect{Kind: machine.MessageEffect, Key: id.Workflow, Value: wire.Marshal(&m)}
}

// conclusion is what the events of a record come to.
func (t *turn) conclusion(list []events.Event) machine.Outcome {
	return machine.Concluded(t.id, list, effects(list))
}
