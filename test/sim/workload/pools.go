package workload

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/services/planner/pool"
	"github.com/heddle-run/heddle/shared/events"
)

// PoolTimes are how long things take in pools of runners: about a third of what they take by default, as runs are short.
var PoolTimes = pool.Settings{
	Threshold: 5 * time.Second, Confirm: 10 * time.Second, Drain: 12 * time.Second, Silence: 7 * time.Second, Remember: 40 * time.Second,
	Recheck: 4 * time.Second,
}

// Pools are the pools of runners as the journals say them, and what others must have been told for that.
type Pools struct {
	Closes []PoolClose
	Blames []PoolBlame
	Open   map[string]int // attempts that pools have, by the pool's id

	books map[string]*poolBook
	errs  []error
}

// PoolClose is a socket that a record of a pool closes.
type PoolClose struct {
	Pool string
	At   events.Position
	To   events.Connection
}

// PoolBlame is an attempt that is lost as its runner has not confirmed it: it must have been told of it on the socket that
// it had.
type PoolBlame struct {
	Pool    string
	At      events.Position
	Session uint64
	To      events.Connection
	Index   uint64 // of the command
}

// poolBook is a pool as its records tell it.
type poolBook struct {
	works    map[uint64]*poolWork
	sessions map[uint64]*poolSession
	last     uint64 // number of an attempt
}

type poolWork struct {
	rank    uint8
	token   string
	session uint64
	index   uint64
	begun   bool
}

type poolSession struct {
	runner, key   string
	slots, used   int
	to            events.Connection
	connected     bool
	over, passed  bool
	draining      bool
	commands      uint64
	events        uint64
	received      uint64
	receivedSince uint64 // as the runner said when it connected last
}

// CheckPools holds the records of a partition against what pools promise: no runner has more attempts than slots, each slot
// is freed once, an attempt is given to one runner, none overtakes another of its priority, and events count once.
func CheckPools(records []*events.Record) (*Pools, error) {
	p := &Pools{Open: map[string]int{}, books: map[string]*poolBook{}}
	for _, rec := range records {
		if _, err := events.ParsePoolID(rec.Workflow); err != nil || !events.OfMachine(rec) {
			continue
		}
		b := p.books[rec.Workflow]
		if b == nil {
			b = &poolBook{works: map[uint64]*poolWork{}, sessions: map[uint64]*poolSession{}}
			p.books[rec.Workflow] = b
		}
		for _, e := range rec.Events {
			p.contained(b, rec, e)
		}
		p.ended(b, rec)
		p.Open[rec.Workflow] = len(b.works)
	}
	return p, errors.Join(p.errs...)
}

func (p *Pools) fail(rec *events.Record, format string, args ...any) {
	p.errs = append(p.errs, &Complaint{rec.Workflow, format, fmt.Errorf("record %s of %q: %w", rec.Position, rec.Workflow, fmt.Errorf(format, args...))})
}

// contained follows an event; one that makes no sense at all is a failure too.
func (p *Pools) contained(b *poolBook, rec *events.Record, e events.Event) {
	defer func() {
		if v := recover(); v != nil {
			p.fail(rec, "%s cannot follow what was before: %v", events.Name(e), v)
		}
	}()
	p.work(b, rec, e)
	p.session(b, rec, e)
}

func (p *Pools) work(b *poolBook, rec *events.Record, e events.Event) {
	switch e := e.(type) {
	case *events.WorkOffered:
		for n, w := range b.works { // order: one fails
			if w.token == string(e.Token) {
				p.fail(rec, "attempt %d is offered, which is attempt %d", e.Number, n)
			}
		}
		b.numbered(p, rec, e.Number)
		b.works[e.Number] = &poolWork{rank: e.Rank, token: string(e.Token)}
	case *events.OfferForestalled:
		b.numbered(p, rec, e.Number)
	case *events.WorkGiven:
		p.given(b, rec, e)
	case *events.WorkBegun:
		w := b.works[e.Number]
		if w.session == 0 || w.begun {
			p.fail(rec, "attempt %d has begun: it is at runner %d, and has begun before: %t", e.Number, w.session, w.begun)
		}
		w.begun = true
	case *events.WorkStopping:
		w, s := b.works[e.Number], b.sessions[e.Session]
		if w.session != e.Session {
			p.fail(rec, "runner %d is to stop attempt %d, which runner %d has", e.Session, e.Number, w.session)
		}
		p.commanded(rec, s, e.Index)
		if e.Reason == events.StopLost && s.connected && w.index >= s.receivedSince {
			p.Blames = append(p.Blames, PoolBlame{rec.Workflow, rec.Position, e.Session, s.to, w.index})
		}
	case *events.WorkOver:
		w := b.works[e.Number]
		if w.session != 0 {
			s := b.sessions[w.session]
			if s.used--; s.used < 0 {
				p.fail(rec, "runner %d has more slots free than it has", w.session)
			}
		}
		delete(b.works, e.Number)
	}
}

func (b *poolBook) numbered(p *Pools, rec *events.Record, n uint64) {
	if n <= b.last {
		p.fail(rec, "attempt %d comes behind attempt %d", n, b.last)
	}
	b.last = n
}

// given holds that the attempt whose turn it is gets a slot that is free.
func (p *Pools) given(b *poolBook, rec *events.Record, e *events.WorkGiven) {
	w, s := b.works[e.Number], b.sessions[e.Session]
	if w.session != 0 {
		p.fail(rec, "attempt %d is given to runner %d, and runner %d has it", e.Number, e.Session, w.session)
	}
	if !s.connected || s.over || s.draining || s.passed {
		p.fail(rec, "attempt %d is given to runner %d: %+v", e.Number, e.Session, *s)
	}
	if s.used++; s.used > s.slots {
		p.fail(rec, "runner %d has %d attempts and %d slots", e.Session, s.used, s.slots)
	}
	for n, other := range b.works { // order: any that was overtaken fails
		if other.session == 0 && n != e.Number && (other.rank < w.rank || other.rank == w.rank && n < e.Number) {
			p.fail(rec, "attempt %d, of rank %d, overtakes attempt %d, of rank %d", e.Number, w.rank, n, other.rank)
			break
		}
	}
	w.session, w.index = e.Session, e.Index
	p.commanded(rec, s, e.Index)
}

func (p *Pools) commanded(rec *events.Record, s *poolSession, index uint64) {
	if index != s.commands {
		p.fail(rec, "command %d follows %d commands", index, s.commands)
	}
	s.commands = index + 1
}

func (p *Pools) session(b *poolBook, rec *events.Record, e events.Event) {
	switch e := e.(type) {
	case *events.RunnerJoined:
		for n, s := range b.sessions { // order: one fails
			if s.key == e.Key && !s.over && !s.draining {
				p.fail(rec, "the runner %q joins as %d, and is there as %d", e.Key, e.Session, n)
			}
		}
		b.sessions[e.Session] = &poolSession{runner: e.Runner, key: e.Key, slots: int(e.Slots)}
	case *events.RunnerConnected:
		s := b.sessions[e.Session]
		if s.over || s.draining || e.Evicts != s.to || e.Received > s.commands {
			p.fail(rec, "runner %d connects by %+v, evicts %+v, has received %d: %+v", e.Session, e.To, e.Evicts, e.Received, *s)
		}
		p.closes(rec, e.Evicts)
		s.to, s.connected, s.passed = e.To, true, false
		s.received, s.receivedSince = max(s.received, e.Received), max(s.received, e.Received)
	case *events.RunnerDisconnected:
		s := b.sessions[e.Session]
		p.closes(rec, e.Closes)
		s.to, s.connected = events.Connection{}, false
	case *events.RunnerDraining:
		b.sessions[e.Session].draining = true
	case *events.RunnerStopped:
		s := b.sessions[e.Session]
		if s.over || e.Closes != s.to {
			p.fail(rec, "runner %d is over, and closes %+v: %+v", e.Session, e.Closes, *s)
		}
		p.closes(rec, e.Closes)
		s.over, s.connected, s.to = true, false, events.Connection{}
	case *events.RunnerProgressed:
		s := b.sessions[e.Session]
		if e.Events < s.events || e.Received < s.received || e.Received > s.commands {
			p.fail(rec, "of runner %d %d events count and %d commands are received, it was told %d, and it was %d and %d before",
				e.Session, e.Events, e.Received, s.commands, s.events, s.received)
		}
		s.events, s.received = e.Events, e.Received
	case *events.RunnerPassedOver:
		b.sessions[e.Session].passed = e.Reason != ""
	case *events.PoolSwept:
		for _, n := range e.Sessions {
			delete(b.sessions, n)
		}
		if e.Gone {
			delete(p.books, rec.Workflow)
		}
	}
}

func (p *Pools) closes(rec *events.Record, to events.Connection) {
	if to.Executor != "" {
		p.Closes = append(p.Closes, PoolClose{rec.Workflow, rec.Position, to})
	}
}

// ended holds that a runner that is over has nothing any more.
func (p *Pools) ended(b *poolBook, rec *events.Record) {
	for _, w := range b.works { // order: one fails
		if s := b.sessions[w.session]; w.session != 0 && (s == nil || s.over) {
			p.fail(rec, "runner %d is over, and has an attempt", w.session)
			return
		}
	}
}

// Runners are the ids of the sessions that a pool has and that are not over.
func (p *Pools) Runners(id string) []string {
	var all []string
	if b := p.books[id]; b != nil {
		for _, s := range b.sessions { // order: sorted below
			if !s.over {
				all = append(all, s.runner)
			}
		}
	}
	slices.Sort(all)
	return all
}
