package looptest

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Kinds of entities that send each other messages. An input {"to": ID, "amount": N} of a
// purse moves so much into a jar, by a message, and the jar confirms each by another.
const (
	PurseKind = "purse"
	JarKind   = "jar"
)

// Entities hosts purses and jars beside counters.
func Entities(workflows machine.Machine) machine.Kinds {
	return machine.Kinds{Workflows: workflows, Others: map[string]machine.Machine{PurseKind: purse{}, JarKind: jar{}}}
}

// Fund is the row of a purse or a jar.
type Fund struct {
	Applied   events.Position
	Amount    int64  // that left the purse, or is in the jar
	Moves     uint64 // so many times
	Confirmed uint64 // of them
	Late      uint64 // messages that came too late to be believed
}

// Fields implements wire.Message.
func (f *Fund) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "applied", &f.Applied)
	wire.Int(c, 2, "amount", &f.Amount)
	wire.Int(c, 3, "moves", &f.Moves)
	wire.Int(c, 4, "confirmed", &f.Confirmed)
	wire.Int(c, 5, "late", &f.Late)
}

// move is what is in an input, in a message, and in an event about either.
type move struct {
	To      string `json:"to,omitempty"`
	From    string `json:"from,omitempty"`
	Amount  int64  `json:"amount,omitempty"`
	Confirm bool   `json:"confirm,omitempty"`
	Late    bool   `json:"late,omitempty"`
	Emit    string `json:"emit,omitempty"`
}

// MovesTopic is where purses say of each move that it was confirmed.
const MovesTopic = "moves"

// fund is what purses and jars have in common.
type fund struct{}

func (fund) Task(*rows.Tx, string, *machine.Attempt, events.RunnableID) (machine.Effect, bool) {
	return machine.Effect{}, false
}

func (fund) Watched(string) machine.Watched { return &machine.Attempt{} }

func (fund) Query(tx *rows.Tx, _ int64, q *events.Query) events.Reply {
	body, err := json.Marshal(rows.Get[Fund](tx, HeadKey(q.Workflow)))
	if err != nil {
		panic(err)
	}
	return events.Reply{Kind: events.ReplyAnswer, Result: events.ResultDone, Body: body}
}

// accepted is the event about a move.
func accepted(m move) []events.Event {
	value, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return []events.Event{&events.InputAccepted{Fact: 1, Value: value}}
}

// told is the move that a message is about.
func told(in machine.Input) move {
	msg, ok := in.Inbox.(*events.EntityMessage)
	if !ok {
		panic(fmt.Sprintf("a fund was sent a %T", in.Inbox))
	}
	var m move
	if err := json.Unmarshal(msg.Body, &m); err != nil {
		panic(err)
	}
	m.From, m.Late = msg.From, in.Late
	return m
}

// apply folds a record into a fund, once, and says which effect it has.
func apply(tx *rows.Tx, rec *events.Record, fold func(f *Fund, m move) (to string, said move)) machine.Outcome {
	out := machine.Outcome{Events: rec.Events, Due: true, Answer: events.Reply{Kind: events.ReplyDecided, Result: events.ResultDone}}
	var m move
	if err := json.Unmarshal(rec.Events[0].(*events.InputAccepted).Value, &m); err != nil {
		panic(err)
	}
	f := &Fund{}
	if old := rows.Get[Fund](tx, HeadKey(rec.Workflow)); old != nil {
		*f = *old
	}
	known := !f.Applied.Before(rec.Position)
	to, said := fold(f, m)
	if !known {
		f.Applied = rec.Position
		tx.Put(HeadKey(rec.Workflow), f)
	}
	if to != "" {
		body, err := json.Marshal(said)
		if err != nil {
			panic(err)
		}
		out.Effects = []machine.Effect{{Kind: machine.MessageEffect, Key: to, Value: body}}
	}
	return out
}

// decideMove makes the record of a move and applies it.
func decideMove(m machine.Machine, tx *rows.Tx, at events.Position, now int64, id string, mv move) machine.Outcome {
	return m.Apply(tx, &events.Record{Position: at, Workflow: id, Time: now, Events: accepted(mv)}, false)
}

// confirmed is the event about a move that was confirmed.
func confirmed(id string, value []byte) machine.Effect {
	return machine.Effect{Kind: machine.EmitEffect, Key: id, Topic: MovesTopic, Type: "move.confirmed", Value: value}
}

type purse struct{ fund }

func (p purse) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Command == nil {
		return decideMove(p, tx, at, now, in.Workflow, told(in))
	}
	var m move
	if err := json.Unmarshal(in.Command.Body.(*events.FeedInput).Input, &m); err != nil {
		panic(err)
	}
	return decideMove(p, tx, at, now, in.Workflow, m)
}

func (purse) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	out := apply(tx, rec, func(f *Fund, m move) (string, move) {
		switch {
		case m.Late:
			f.Late++
		case m.Confirm:
			f.Confirmed++
		default:
			f.Amount, f.Moves = f.Amount+m.Amount, f.Moves+1
			return m.To, move{Amount: m.Amount}
		}
		return "", move{}
	})
	if guarded {
		return machine.Outcome{}
	}
	var m move
	value := rec.Events[0].(*events.InputAccepted).Value
	if err := json.Unmarshal(value, &m); err != nil {
		panic(err)
	}
	if m.Emit != "" {
		out.Effects = append(out.Effects, machine.Effect{Kind: machine.EmitEffect, Key: rec.Workflow, Topic: m.Emit, Type: "test", Value: value})
	}
	if m.Confirm && !m.Late {
		out.Effects = append(out.Effects, confirmed(rec.Workflow, value))
	}
	return out
}

type jar struct{ fund }

func (j jar) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	return decideMove(j, tx, at, now, in.Workflow, told(in))
}

func (jar) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	out := apply(tx, rec, func(f *Fund, m move) (string, move) {
		if m.Late {
			f.Late++
			return "", move{}
		}
		f.Amount, f.Moves = f.Amount+m.Amount, f.Moves+1
		return m.From, move{Confirm: true}
	})
	if guarded {
		return machine.Outcome{}
	}
	return out
}

// Delivery implements machine.Machine.
func (fund) Delivery(*rows.Tx, string, events.RunnableID) (machine.Delivery, bool) {
	return machine.Delivery{}, false
}

// RequestID implements machine.Machine.
func (fund) RequestID(events.Token) string { return "" }
