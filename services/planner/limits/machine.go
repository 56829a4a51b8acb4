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
	tx   *rows.Tx
	at   events.Position
	now  int64 // Unix ms, the record's time
	id   string
	kind string // of the key; empty: it is none
	name string // of the key

	head *head // nil: there is nothing to remember

	events []events.Event
}

func begin(tx *rows.Tx, at events.Position, now int64, id string) *turn {
	kind, name, _ := events.ParseKeyID(id) // what is no key has no kind, and no rows
	return &turn{tx: tx, at: at, now: now, id: id, kind: kind, name: name, head: rows.Get[head](tx, headKey(id))}
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
	case in.Timer != nil:
		t.fired()
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

// fired does what is due.
func (t *turn) fired() {
	if t.rate() {
		t.sweepRate()
		return
	}
	if t.breaks() {
		t.tries()
	}
	if t.head.Sweep != 0 && t.head.Sweep <= t.now {
		t.sweep()
	}
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

// Delivery implements machine.Machine: a key has none.
func (Machine) Delivery(*rows.Tx, string, events.RunnableID) (machine.Delivery, bool) {
	return machine.Delivery{}, false
}

// RequestID implements machine.Machine: a key has no attempts, and no tokens.
func (Machine) RequestID(events.Token) string { return "" }

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
	if t.kind == "" || said.Verb == events.KeyAsk && !sound(t.kind, said.Limit) {
		return // no workflow asks such a one, or so
	}
	id := events.PermitID{Workflow: m.From, Runnable: said.Runnable, Asked: said.Asked}
	known := t.known(id)
	switch {
	case said.Verb == events.KeyAsk && known == nil:
		t.asked(id, said.Rank, said.Limit)
	case said.Verb == events.KeyReturn && known != nil:
		t.returned(id, *known, said.Verdict)
	}
}

// asked takes a new request.
func (t *turn) asked(id events.PermitID, rank uint8, limit events.KeyLimit) {
	if t.denies(limit) {
		t.emit(&events.PermitDenied{Permit: id, Limit: limit, Until: t.head.Breaker.Until})
		return
	}
	number := uint64(1)
	if t.head != nil {
		number = t.head.Next + 1
	}
	t.emit(&events.PermitQueued{Number: number, Rank: rank, Permit: id, Limit: limit})
	if limit.Fails { // it must not wait, not even for those before it
		t.emit(&events.PermitIssued{Number: number, Permit: id})
	}
}

// returned takes a permit back, or withdraws a request.
func (t *turn) returned(id events.PermitID, n request, verdict events.Verdict) {
	before := t.head.Breaker
	e := events.PermitOver{Number: n.Number, Permit: id}
	if t.breaks() && verdict <= events.VerdictFailed {
		e.Verdict = verdict
	}
	t.emit(&e)
	if t.breaks() {
		t.judge(n, before, e.Verdict)
	}
}

// sound reports whether a limit is one of a kind of key.
func sound(kind string, l events.KeyLimit) bool {
	return l.Limit > 0 && l.Limit <= policy.MaxKeyLimit && (!l.Fails || kind == events.BreakerKey) &&
		(l.Per > 0) == (kind != events.ConcurrencyKey) && l.Per <= uint64(policy.MaxPer.Milliseconds())
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
	switch {
	case t.rate():
		return t.allowed(min(t.head.Queued, mostEach))
	case t.breaks():
		return t.head.Breaker.lets()
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
	h := t.head
	if h != nil && h.Queued+h.Held == 0 && h.Granted == h.Forgotten && (!t.breaks() || h.Breaker.forgets(t.now)) {
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
			all = append(all, say(events.KeyGrant, e.Permit, 0))
		case *events.PermitDenied:
			all = append(all, say(events.KeyDeny, e.Permit, e.Until))
		case *events.KeySwept:
			for _, id := range e.Asked {
				all = append(all, say(events.KeyInquire, id, 0))
			}
		}
	}
	return all
}

func say(verb events.KeyVerb, id events.PermitID, until int64) machine.Effect {
	m := events.KeyMessage{Verb: verb, Runnable: id.Runnable, Asked: id.Asked, Until: until}
	return machine.Effect{Kind: machine.MessageEffect, Key: id.Workflow, Value: wire.Marshal(&m)}
}

// conclusion is what the events of a record come to.
func (t *turn) conclusion(list []events.Event) machine.Outcome {
	return machine.Concluded(t.id, list, effects(list))
}
