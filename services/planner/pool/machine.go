package pool

import (
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Kind is what the ids of pools begin with, up to the colon.
const Kind = "pool"

// Machine is the machine of pools. It belongs to one goroutine.
type Machine struct {
	settings Settings
	flaws    Flaws
}

var (
	_ machine.Machine = (*Machine)(nil)
	_ machine.Pooling = (*Machine)(nil)
)

// New makes a machine of pools.
func New(s Settings) *Machine { return &Machine{settings: s.Complete()} }

// turn is the work on one record of one pool: deciding it or applying it.
type turn struct {
	settings *Settings
	options  Options
	flaws    *Flaws
	tx       *rows.Tx
	at       events.Position
	now      int64 // Unix ms, the record's time
	id       string
	name     string // of the pool, or of the shard that this is; empty: the id is none of a pool, and has no rows
	pool     string // of the pool

	head *head // nil: there is nothing to remember

	events []events.Event
}

func (m *Machine) begin(tx *rows.Tx, at events.Position, now int64, id string) *turn {
	name, _ := events.ParsePoolID(id) // what is no pool has no name, and no rows
	pool, _ := events.SplitShard(name)
	return &turn{
		settings: &m.settings, options: m.settings.Pools[pool], flaws: &m.flaws,
		tx: tx, at: at, now: now, id: id, name: name, pool: pool, head: rows.Get[head](tx, headKey(id)),
	}
}

// Decide implements machine.Machine.
func (m *Machine) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	t := m.begin(tx, at, now, in.Workflow)
	if t.name == "" {
		return machine.Outcome{}
	}
	t.resize()
	switch {
	case in.Command != nil:
		t.command(in.Command)
	case in.Inbox != nil:
		t.inbox(in)
	case in.Timer != nil && (t.head == nil || t.head.Due != int64(in.Timer.A)): // it was overtaken
		if len(t.events) == 0 {
			return machine.Outcome{}
		}
	case in.Timer != nil:
		t.fired(in.Limit > 0)
	}
	if len(t.events) > 0 || in.Timer != nil {
		t.upgrade()
		t.allocate()
		t.rest()
		t.finish()
	}
	return t.conclusion(t.events)
}

func (t *turn) inbox(in machine.Input) {
	switch m := in.Inbox.(type) {
	case *events.EntityMessage:
		t.told(m, in.Late)
	case *events.RunnerReport:
		t.reported(m)
	}
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

// Task implements machine.Machine: a pool has none.
func (*Machine) Task(*rows.Tx, string, *machine.Attempt, events.RunnableID) (machine.Effect, bool) {
	return machine.Effect{}, false
}

// Delivery implements machine.Machine: those of a pool's attempts are their workflows'.
func (*Machine) Delivery(*rows.Tx, string, events.RunnableID) (machine.Delivery, bool) {
	return machine.Delivery{}, false
}

// RequestID implements machine.Machine: a pool has no attempts of its own, and no tokens.
func (*Machine) RequestID(events.Token) string { return "" }

// Watched implements machine.Machine.
func (*Machine) Watched(string) machine.Watched { return &machine.Attempt{} }

// emit records an event and changes the state by it.
func (t *turn) emit(e events.Event) {
	t.events = append(t.events, e)
	t.apply(e)
}

// conclusion is what the events of a record come to.
func (t *turn) conclusion(list []events.Event) machine.Outcome {
	return machine.Concluded(t.id, list, t.effects(list))
}

// effects are what follows from events: what workflows are told, and what executors are to do. It reads what it
// needs of rows that may be newer than the record: a command that is not there any more is not needed.
func (t *turn) effects(list []events.Event) (all []machine.Effect) {
	to := map[uint64]int{} // sessions that are told something, by the place of the effect
	sends := []*events.RunnerCommands{}
	send := func(n uint64) *events.RunnerCommands {
		s := t.session(n)
		if s == nil || s.To.Executor == "" {
			return nil
		}
		i, known := to[n]
		if !known {
			i = len(sends)
			to[n] = i
			sends = append(sends, &events.RunnerCommands{To: s.To, Pool: t.id, Runner: s.Runner})
		}
		return sends[i]
	}
	for _, e := range list {
		switch e := e.(type) {
		case *events.RunnerConnected:
			if e.Evicts.Executor != "" && !t.flaws.BothServed.on() {
				all = append(all, t.closes(e.Session, e.Evicts, frames.CloseEviction.Reason))
			}
			if m, s := send(e.Session), t.session(e.Session); m != nil && s.To == e.To {
				m.Welcome = &events.RunnerWelcome{Session: e.Session, Events: s.Events, Threshold: e.Threshold}
				m.Commands = t.missed(e.Session, s, e.Received)
			}
		case *events.RunnerDisconnected:
			if e.Closes.Executor != "" {
				all = append(all, t.closes(e.Session, e.Closes, frames.CloseGoingAway.Reason))
			}
		case *events.ExecutorDisowned:
			all = append(all, runnerEffect(&events.RunnerCommands{To: events.Connection{Executor: e.Executor}, Pool: t.id, Runner: t.id, Close: frames.CloseGoingAway.Reason}))
		case *events.WorkGiven:
			t.sendCommand(send(e.Session), e.Session, e.Index)
		case *events.WorkAsked:
			all = tell(all, &events.PoolMessage{Verb: events.PoolInquire, Token: e.Token})
		case *events.WorkStopping:
			t.sendCommand(send(e.Session), e.Session, e.Index)
		case *events.RunnerStopped:
			if e.Closes.Executor != "" {
				all = append(all, t.closes(e.Session, e.Closes, e.Close))
			}
		case *events.RunnerRedirected:
			all = append(all, runnerEffect(&events.RunnerCommands{To: e.To, Pool: t.id, Runner: e.Key, Greet: e.Shard}))
		case *events.SlotsAsked:
			for _, shard := range e.Shards {
				all = append(all, messageTo(shard, &events.PoolMessage{Verb: events.PoolAsk}))
			}
		case *events.SlotsSpared:
			all = append(all, messageTo(e.Shard, &events.PoolMessage{Verb: events.PoolSpare, Slots: e.Slots}))
		case *events.WorkOver:
			if e.Tells != 0 {
				all = tell(all, &events.PoolMessage{Verb: e.Tells, Token: e.Token, Reason: e.Reason, Shard: e.Shard})
			}
		case *events.WorkDeclined:
			all = tell(all, &events.PoolMessage{Verb: events.PoolReturn, Token: e.Token, Reason: e.Reason})
		}
	}
	for _, m := range sends {
		all = inParts(all, m)
	}
	return all
}

// inParts adds what is sent to a runner, in as many records as it takes: the topic bounds one.
func inParts(all []machine.Effect, m *events.RunnerCommands) []machine.Effect {
	rest := m.Commands
	for {
		size, n := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n].Start) <= mostSent) {
			size += len(rest[n].Start) + len(rest[n].Token) + perCommand
			n++
		}
		m.Commands, rest = rest[:n:n], rest[n:]
		all = append(all, runnerEffect(m))
		if len(rest) == 0 {
			return all
		}
		m.Welcome = nil // it came first
	}
}

func runnerEffect(m *events.RunnerCommands) machine.Effect {
	return machine.Effect{Kind: machine.RunnerEffect, Key: m.Runner, Value: wire.Marshal(m)}
}

// closes closes a socket.
func (t *turn) closes(n uint64, to events.Connection, why string) machine.Effect {
	m := events.RunnerCommands{To: to, Pool: t.id, Close: why}
	if s := t.session(n); s != nil {
		m.Runner = s.Runner
	}
	return runnerEffect(&m)
}

// sendCommand adds a command to what a session is sent, unless that is there already.
func (t *turn) sendCommand(m *events.RunnerCommands, session, index uint64) {
	k := rows.Get[command](t.tx, commandKey(t.id, session, index))
	if m == nil || k == nil || m.Welcome != nil {
		return // nobody is there to hear it, it is done, or it is among those that were missed
	}
	if c, needed := t.commandOf(k, index); needed {
		m.Commands = append(m.Commands, c)
	}
}

// missed are the commands that a session has not received, as its runner says.
func (t *turn) missed(n uint64, s *session, received uint64) (all []events.RunnerCommand) {
	if t.flaws.MissedSkipped.on() {
		return nil
	}
	rows.Scan(t.tx, commandKey(t.id, n, max(received, s.Received)), func(k rows.Key, c *command) bool {
		if k.A != n {
			return false
		}
		if m, needed := t.commandOf(c, k.B); needed {
			all = append(all, m)
		}
		return true
	})
	return all
}

// commandOf is a command as it is sent; it is not needed where the attempt that it begins is over.
func (t *turn) commandOf(k *command, index uint64) (events.RunnerCommand, bool) {
	m := events.RunnerCommand{Index: index, Token: k.Token, Stop: k.Stop}
	if k.Stop == "" {
		w := t.work(k.Number)
		if w == nil || w.Task == nil {
			return m, false
		}
		m.Start = w.Task
	}
	return m, true
}

// tell tells the workflow of an attempt what became of it here.
func tell(all []machine.Effect, m *events.PoolMessage) []machine.Effect {
	of, err := events.PeekToken(m.Token)
	if err != nil {
		return all // it was checked when it was offered
	}
	return append(all, messageTo(of.Workflow, m))
}

func messageTo(id string, m *events.PoolMessage) machine.Effect {
	return machine.Effect{Kind: machine.MessageEffect, Key: id, Value: wire.Marshal(m)}
}

// command takes what an operator asks for.
func (t *turn) command(c *events.Command) {
	refuse := func(code, text string) {
		t.emit(&events.CommandRefused{Command: c.Name, Code: code, Message: text})
	}
	var b *events.StopRunner
	switch body := c.Body.(type) {
	case *events.StopRunner:
		b = body
	default:
		refuse("unknown_command", "a pool understands stop_runner only")
		return
	}
	n, s := t.find(b.Runner)
	switch {
	case s == nil:
		refuse("not_found", "the pool has no runner "+strings.TrimSpace(b.Runner))
	case !s.alive() && !b.Now || s.State == stopped:
		refuse("invalid_state", "the runner is "+s.State.String()+" already")
	case b.Now:
		t.stop(n, "an operator stopped it at once", frames.CloseEviction.Reason)
	default:
		t.drain(n, "an operator stopped it", b.By, false)
	}
}
