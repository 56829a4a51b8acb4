package partition

import (
	"fmt"
	"math"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// replyAge is how old a record may be whose replies are given again at
// recovery; nobody keeps waiting as long as the replies topic keeps records.
const replyAge = 10 * 60 * 1000 // ms

// NewProcessor makes the processor of a partition whose state is in c.State.
func NewProcessor(c Config) *Processor {
	p := &Processor{Config: c, tx: rows.Begin(c.State), watch: newWatch(), due: map[string]struct{}{}}
	p.timers = timers{next: math.MinInt64, idle: map[rows.Key]struct{}{}}
	p.tick()
	return p
}

// recall reads the partition's own rows.
func (p *Processor) recall(s *store.Store) error {
	for _, source := range inputs {
		l := &p.inputs[source]
		if _, err := s.Get(positionKey(source), &l.row); err != nil {
			return fmt.Errorf("reading the position of %s: %w", source, err)
		}
		l.stamp = l.row.Time
	}
	if _, err := s.Get(leaseKey, &p.lease); err != nil {
		return fmt.Errorf("reading the lease: %w", err)
	}
	var replay replayRow
	if _, err := s.Get(replayKey, &replay); err != nil {
		return fmt.Errorf("reading the replay request: %w", err)
	}
	p.rewound = replay.Cursor
	return nil
}

// replayRecord applies one record of the journal as it was applied when it was
// made. guarded says that the partition's keys hold it already: then only the
// rows of its workflow may need it (C1). A record that cannot be applied counts
// as a quarantine, and is changed into one.
func (p *Processor) replayRecord(rec *events.Record, at journal.Mark, guarded bool) (outs []*Outgoing, err error) {
	defer func() {
		if v := recover(); v != nil {
			if defect := p.contain(v); defect != "" {
				outs = p.defective(rec, defect, guarded)
			}
			err = p.fault
		}
		p.took(rec, at)
	}()
	if domain(rec) && p.Machine.Applied(p.tx, rec.Workflow).Before(rec.Position) {
		p.Machine.Apply(p.tx, rec)
	}
	if guarded {
		p.applyOwned(rec.Workflow)
		return nil, nil
	}
	outs = p.worthwhile(rec, p.conclude(nil, rec, ""))
	if bad := p.foldPositions(rec); bad != nil {
		panic(bad) // contained above
	}
	p.apply()
	return outs, nil
}

// took moves the processor behind a replayed record.
func (p *Processor) took(rec *events.Record, at journal.Mark) {
	p.tail = at
	p.epoch, p.seq = rec.Position.Epoch, rec.Position.Seq
	p.tick() // it may have been made since the replay began
	p.clock.met(rec.Time)
	for _, e := range rec.Events {
		p.lease = p.lease.Apply(e, rec.Position.Epoch)
		if e, ok := e.(*events.ReplayRequested); ok {
			p.rewound = e.Cursor
		}
	}
}

func (p *Processor) apply() {
	p.n++
	p.State.Apply(p.tx.Writes(), p.n)
	p.tx.Reset()
}

// applyOwned keeps what a record changed of its workflow's own rows.
func (p *Processor) applyOwned(workflow string) {
	all := p.tx.Writes()
	own := make([]rows.Write, 0, len(all))
	for _, w := range all {
		if workflow != "" && store.Owner(w.Key) == workflow {
			own = append(own, w)
		}
	}
	p.n++
	p.State.Apply(own, p.n)
	p.tx.Reset()
}

// worthwhile leaves out what is made otherwise or helps nobody any more: tasks
// are made again from open attempts (E1), and old replies have no reader.
func (p *Processor) worthwhile(rec *events.Record, outs []*Outgoing) []*Outgoing {
	kept := outs[:0]
	for _, o := range outs {
		old := o.Kind == machine.ReplyEffect && p.clock.now-rec.Time > replyAge
		if o.kept && !old {
			kept = append(kept, o)
		}
	}
	return kept
}

// rerelease lets out what is not known to be out: the outbox and the tasks of
// open attempts that nobody has taken, or all of them (E1, E3). What there is no
// room for is set aside and follows. What was asked before may have taken longer than
// the lease lasts (E5).
func (p *Processor) rerelease(s *store.Store, all bool) error {
	var bad error
	if p.Flaws.NoRerelease {
		return nil
	}
	p.tick()
	err := s.Scan(rows.Key{Table: rows.Outbox}, func(k rows.Key, value []byte) bool {
		row := &outboxRow{}
		if bad = wire.Unmarshal(clone(value), row); bad != nil {
			return false
		}
		o := outgoing(k, row)
		if p.roomAgain() {
			p.release(o)
		} else {
			p.setAside(o, p.Log.Outlet(o), nil)
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("reading the outbox: %w", err)
	}
	return p.rewatch(s, all)
}

// rewatch makes the list of open attempts again and publishes their tasks.
func (p *Processor) rewatch(s *store.Store, all bool) error {
	var bad error
	var tries []try
	err := s.ScanTable(rows.Runnable, func(k rows.Key, value []byte) bool {
		row := p.Machine.Watched()
		if bad = wire.Unmarshal(clone(value), row); bad != nil {
			return false
		}
		tries = appendTries(tries[:0], []rows.Write{{Key: k, Row: row}})
		p.watch.note(&tries[0], p.clock.now)
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("reading open attempts: %w", err)
	}
	p.tick() // all rows were read
	p.republishAll(all)
	return p.fault
}

// republishAll makes the tasks of the attempts again that nobody has taken, in
// the order of their keys; of all attempts, if outcomes may have been lost.
func (p *Processor) republishAll(all bool) {
	for _, k := range p.watch.keys() {
		at := p.watch.open[k]
		switch {
		case at.row.Detached || at.row.Notified && !all:
		case p.roomAgain():
			p.republish(k, at)
		default:
			o := &Outgoing{Kind: machine.TaskEffect, Key: k.workflow, Queue: at.row.Queue, Runnable: k.runnable, Decided: at.row.Decided}
			p.setAside(o, p.Log.Outlet(o), nil)
		}
	}
}
