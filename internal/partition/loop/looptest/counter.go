// Package looptest has what tests of the loop, and of an owner's life around it, host:
// a machine that is easy to reason about.
package looptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Secret signs the tokens of attempts in tests.
var Secret = events.Key("0123456789abcdef")

// Counter is a small machine: a workflow is a number. start makes it, each
// input dispatches one attempt that is to add the input to it, and its outcome
// is the number added. The number is its result.
type Counter struct {
	Early bool // its tasks leave with the append
	Key   events.Key
	Panic string // a workflow whose inputs meet a defect

	Lossless string // a workflow whose losses meet a defect
	Unmade   string // a workflow whose tasks cannot be made again

	Unapplied events.FactID // the input whose record cannot be applied any more
}

// Tally is the row of a counter.
type Tally struct {
	Applied  events.Position
	Sum      int64
	Next     uint64
	Outcomes uint64
	Open     uint64
	Held     string // why it is quarantined
	InHand   uint64 // pieces of work
}

// Fields implements wire.Message.
func (t *Tally) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "applied", &t.Applied)
	wire.Int(c, 2, "sum", &t.Sum)
	wire.Int(c, 3, "next", &t.Next)
	wire.Int(c, 4, "outcomes", &t.Outcomes)
	wire.Int(c, 5, "open", &t.Open)
	wire.String(c, 6, "held", &t.Held)
	wire.Int(c, 7, "in_hand", &t.InHand)
}

// amount is the row of an open addition.
type amount struct{ Value json.RawMessage }

func (a *amount) Fields(c *wire.Codec) { c.JSON(1, "value", &a.Value) }

// HeadKey is the key of a counter's row.
func HeadKey(wf string) rows.Key { return rows.Key{Table: rows.Header, Workflow: wf} }

func rowKey(t rows.Table, wf string, id events.RunnableID) rows.Key {
	return rows.Key{Table: t, Workflow: wf, A: uint64(id)}
}

// TimeoutMs is the timeout of an attempt of a workflow that is named for it.
const TimeoutMs = 60_000

// Decide implements machine.Machine.
func (m *Counter) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	evs := m.decide(tx, now, in)
	if in.Limit > 0 {
		evs = []events.Event{&events.CommandRefused{Code: "too_large", Message: fmt.Sprint("more than ", in.Limit)}}
	}
	if len(evs) == 0 {
		return machine.Outcome{}
	}
	rec := &events.Record{Position: at, Workflow: in.Workflow, Time: now, Events: evs, ReplyTo: in.ReplyTo}
	return m.outcome(tx, rec, m.fold(tx, rec))
}

func (m *Counter) decide(tx *rows.Tx, now int64, in machine.Input) []events.Event {
	if in.Workflow == m.Panic && m.Panic != "" {
		panic("this workflow is cursed")
	}
	head := rows.Get[Tally](tx, HeadKey(in.Workflow))
	switch {
	case in.Command != nil:
		evs := m.command(head, in.Command)
		if head == nil && in.Quarantine != nil {
			evs = append(evs, &events.WorkflowPaused{Quarantine: in.Quarantine.Reason})
		}
		return evs
	case in.Timer != nil:
		return []events.Event{&events.TimerFired{Runnable: events.RunnableID(in.Timer.B)}}
	case in.Continue:
		if head == nil || head.InHand == 0 {
			return nil
		}
		return []events.Event{&events.WorkInHand{Done: 1}}
	case in.Lost != nil:
		return m.lost(tx, in)
	case in.Quarantine != nil:
		if head == nil || head.Held == in.Quarantine.Reason || in.Quarantine.Active && head.Open == 0 {
			return nil
		}
		return []events.Event{&events.WorkflowPaused{Quarantine: in.Quarantine.Reason}}
	}
	return m.inbox(tx, now, in)
}

func (m *Counter) command(head *Tally, cmd *events.Command) []events.Event {
	switch b := cmd.Body.(type) {
	case *events.StartWorkflow:
		if head != nil {
			return refuse(cmd, "already_started")
		}
		return []events.Event{&events.WorkflowStarted{Name: "counter"}}
	case *events.FeedInput:
		if head == nil {
			return refuse(cmd, "not_found")
		}
		if strings.HasPrefix(cmd.Workflow, "much") { // its input leaves work
			return []events.Event{&events.WorkInHand{Added: make([]events.Work, 3)}}
		}
		if cmd.Workflow == "big" { // its decisions are larger than any record
			return []events.Event{&events.InputAccepted{Fact: 1, Value: json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)}}
		}
		id := events.RunnableID(head.Next + 1)
		return []events.Event{
			&events.InputAccepted{Fact: events.FactID(id), Value: b.Input},
			&events.RunnableDispatched{Runnable: id, Attempt: 1, Queue: "default"},
		}
	case *events.CheckpointWorkflow:
		return []events.Event{&events.CheckpointRequested{By: b.By}}
	}
	return refuse(cmd, "invalid_state")
}

func refuse(cmd *events.Command, code string) []events.Event {
	return []events.Event{&events.CommandRefused{Command: cmd.Name, Code: code, Message: code}}
}

func (m *Counter) inbox(tx *rows.Tx, now int64, in machine.Input) []events.Event {
	if _, ok := in.Inbox.(*events.RunRestore); ok && rows.Get[Tally](tx, HeadKey(in.Workflow)) == nil {
		return []events.Event{&events.WorkflowStarted{Name: "counter"}}
	}
	t, err := m.Key.Open(in.Inbox.AttemptToken())
	if err != nil {
		return nil
	}
	a := rows.Get[machine.Attempt](tx, rowKey(rows.Runnable, in.Workflow, t.Runnable))
	if a == nil || a.Decided != t.Decided {
		return nil
	}
	switch msg := in.Inbox.(type) {
	case *events.TaskOutcome:
		return []events.Event{&events.RunnableCompleted{Runnable: t.Runnable, Value: msg.Result}}
	case *events.TaskNotified:
		return []events.Event{&events.RunnableNotified{Runnable: t.Runnable, Channel: msg.Channel, At: now}}
	}
	return nil
}

// lost dispatches the attempt again.
func (m *Counter) lost(tx *rows.Tx, in machine.Input) []events.Event {
	if in.Workflow == m.Lossless {
		panic("this workflow's losses are cursed")
	}
	a := rows.Get[machine.Attempt](tx, rowKey(rows.Runnable, in.Workflow, in.Lost.Runnable))
	if a == nil || a.Attempt != in.Lost.Attempt {
		return nil
	}
	return []events.Event{
		&events.RunnableLost{Runnable: in.Lost.Runnable, Error: events.TaskError{Type: events.ErrorLost, Message: in.Lost.Reason}},
		&events.RunnableDispatched{Runnable: in.Lost.Runnable, Attempt: a.Attempt + 1, Queue: "default"},
	}
}

// Apply implements machine.Machine.
func (m *Counter) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	var ended []machine.Ended
	if h := rows.Get[Tally](tx, HeadKey(rec.Workflow)); h == nil || h.Applied.Before(rec.Position) {
		ended = m.fold(tx, rec)
	}
	if guarded {
		return machine.Outcome{}
	}
	return m.outcome(tx, rec, ended)
}

func (m *Counter) outcome(tx *rows.Tx, rec *events.Record, ended []machine.Ended) machine.Outcome {
	head := rows.Get[Tally](tx, HeadKey(rec.Workflow))
	return machine.Outcome{
		Ended: ended, Events: rec.Events, Effects: m.effects(tx, rec), Answer: m.answer(rec), Due: m.due(rec), InHand: head != nil && head.InHand > 0,
	}
}

// fold applies a record, and returns the deliveries that it ends.
func (m *Counter) fold(tx *rows.Tx, rec *events.Record) (ended []machine.Ended) {
	wf := rec.Workflow
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.WorkflowStarted:
			tx.Put(HeadKey(wf), &Tally{})
		case *events.InputAccepted:
			if e.Fact == m.Unapplied {
				panic("this input is cursed")
			}
			tx.Create(rowKey(rows.Fact, wf, events.RunnableID(e.Fact)), &amount{e.Value})
			h := rows.Change[Tally](tx, HeadKey(wf))
			h.Next, h.Open = uint64(e.Fact), h.Open+1
		case *events.RunnableDispatched:
			tx.Put(rowKey(rows.Runnable, wf, e.Runnable), &machine.Attempt{Attempt: e.Attempt, Decided: rec.Position, Queue: e.Queue, Since: rec.Time})
			if wf == "timed" {
				tx.Put(rows.Key{Table: rows.Timer, A: uint64(rec.Time + TimeoutMs), Workflow: wf, B: uint64(e.Runnable), C: machine.TimerTimeout}, &machine.Timer{Attempt: e.Attempt})
			}
		case *events.RunnableNotified:
			a := rows.Change[machine.Attempt](tx, rowKey(rows.Runnable, wf, e.Runnable))
			a.Notified, a.NotifiedAt = true, e.At
		case *events.RunnableLost:
			ended = m.end(ended, tx, rec, e.Runnable, e.Error.Type)
		case *events.RunnableCompleted:
			ended = m.end(ended, tx, rec, e.Runnable, "")
			m.completed(tx, rec, e)
		case *events.TimerFired:
			ended = m.end(ended, tx, rec, e.Runnable, events.ErrorTimeout)
			m.fired(tx, wf, e.Runnable)
		case *events.WorkInHand:
			m.inHand(tx, wf, e)
		case *events.WorkflowPaused:
			rows.Change[Tally](tx, HeadKey(wf)).Held = e.Quarantine
		}
	}
	if rows.Get[Tally](tx, HeadKey(wf)) != nil {
		rows.Change[Tally](tx, HeadKey(wf)).Applied = rec.Position
	}
	return ended
}

func (m *Counter) inHand(tx *rows.Tx, wf string, e *events.WorkInHand) {
	h := rows.Change[Tally](tx, HeadKey(wf))
	for range e.Added {
		h.InHand++
		tx.Create(rowKey(rows.InHand, wf, events.RunnableID(h.InHand)), &events.Work{})
	}
	for range e.Done {
		tx.Delete(rowKey(rows.InHand, wf, events.RunnableID(h.InHand)))
		h.InHand--
	}
}

func (m *Counter) completed(tx *rows.Tx, rec *events.Record, e *events.RunnableCompleted) {
	var n int64
	if err := json.Unmarshal(e.Value, &n); err != nil {
		panic(err)
	}
	h := rows.Change[Tally](tx, HeadKey(rec.Workflow))
	h.Sum, h.Outcomes, h.Open = h.Sum+n, h.Outcomes+1, h.Open-1
	tx.Delete(rowKey(rows.Fact, rec.Workflow, e.Runnable))
	m.drop(tx, rec.Workflow, e.Runnable)
}

func (m *Counter) fired(tx *rows.Tx, wf string, id events.RunnableID) {
	h := rows.Change[Tally](tx, HeadKey(wf))
	h.Sum -= 1_000_000 // seen in results
	h.Open--
	m.drop(tx, wf, id)
}

func (m *Counter) drop(tx *rows.Tx, wf string, id events.RunnableID) {
	a := rows.Get[machine.Attempt](tx, rowKey(rows.Runnable, wf, id))
	if a != nil && wf == "timed" {
		tx.Delete(rows.Key{Table: rows.Timer, A: uint64(a.Since + TimeoutMs), Workflow: wf, B: uint64(id), C: machine.TimerTimeout})
	}
	tx.Delete(rowKey(rows.Runnable, wf, id))
}

func (m *Counter) effects(tx *rows.Tx, rec *events.Record) []machine.Effect {
	var all []machine.Effect
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.RunnableDispatched:
			if t, ok := m.task(tx, rec.Workflow, rows.Get[machine.Attempt](tx, rowKey(rows.Runnable, rec.Workflow, e.Runnable)), e.Runnable); ok {
				all = append(all, t)
			}
		case *events.RunnableCompleted:
			value := []byte(fmt.Sprint(rows.Get[Tally](tx, HeadKey(rec.Workflow)).Sum))
			if rec.Workflow == "loud" { // its status is larger than any record
				value = bytes.Repeat(value, 5<<20)
			}
			all = append(all, machine.Effect{Kind: machine.StatusEffect, Key: rec.Workflow, Value: value})
		}
	}
	return all
}

// end ends the delivery of an attempt, if one is open; it fails for a reason, unless that is empty.
func (m *Counter) end(ended []machine.Ended, tx *rows.Tx, rec *events.Record, id events.RunnableID, reason string) []machine.Ended {
	d, ok := m.Delivery(tx, rec.Workflow, id)
	if !ok {
		return ended
	}
	d.Reason = reason
	return append(ended, machine.Ended{Delivery: d, At: rec.Time, Failed: reason != ""}.Told())
}

// Delivery implements machine.Machine.
func (m *Counter) Delivery(tx *rows.Tx, wf string, id events.RunnableID) (machine.Delivery, bool) {
	a := rows.Get[machine.Attempt](tx, rowKey(rows.Runnable, wf, id))
	if a == nil {
		return machine.Delivery{}, false
	}
	token := events.Token{Workflow: wf, Runnable: id, Attempt: a.Attempt, Decided: a.Decided}
	return machine.Delivery{Token: token, Queue: a.Queue, Since: a.Since, Notified: a.NotifiedAt, Pending: !a.Notified}, true
}

// RequestID implements machine.Machine.
func (m *Counter) RequestID(t events.Token) string { return events.TokenText(m.Key.Seal(t)) }

// Watched implements machine.Machine.
func (m *Counter) Watched(string) machine.Watched { return &machine.Attempt{} }

// Task implements machine.Machine.
func (m *Counter) Task(tx *rows.Tx, wf string, a *machine.Attempt, id events.RunnableID) (machine.Effect, bool) {
	if wf == m.Unmade {
		panic("this workflow's tasks are cursed")
	}
	return m.task(tx, wf, a, id)
}

func (m *Counter) task(tx *rows.Tx, wf string, a *machine.Attempt, id events.RunnableID) (machine.Effect, bool) {
	in := rows.Get[amount](tx, rowKey(rows.Fact, wf, id))
	if in == nil {
		return machine.Effect{}, false
	}
	token := m.Key.Seal(events.Token{Workflow: wf, Runnable: id, Attempt: a.Attempt, Decided: a.Decided})
	value := wire.Marshal(&events.Task{Token: token, Task: "add", Attempt: a.Attempt, Input: in.Value})
	return machine.Effect{Kind: machine.TaskEffect, Key: wf, Queue: a.Queue, Runnable: id, Value: value, Early: m.Early}, true
}

func (m *Counter) answer(rec *events.Record) events.Reply {
	r := events.Reply{Kind: events.ReplyDecided, Result: events.ResultDone}
	if e, ok := rec.Events[0].(*events.CommandRefused); ok {
		r.Result, r.Refusal = events.ResultRefused, &events.Refusal{Code: e.Code, Message: e.Message}
	}
	return r
}

func (m *Counter) due(rec *events.Record) bool {
	if _, ok := rec.Events[0].(*events.CheckpointRequested); ok {
		return true
	}
	if rec.Workflow[0] == 'm' { // manual: by command only
		return false
	}
	_, ok := rec.Events[0].(*events.RunnableCompleted)
	return ok
}

// Query implements machine.Machine.
func (m *Counter) Query(tx *rows.Tx, _ int64, q *events.Query) events.Reply {
	h := rows.Get[Tally](tx, HeadKey(q.Workflow))
	if h == nil {
		return events.Reply{Refusal: &events.Refusal{Code: "not_found"}}
	}
	return events.Reply{Result: events.ResultDone, Body: json.RawMessage(fmt.Sprintf(`{"sum":%d,"open":%d}`, h.Sum, h.Open))}
}
