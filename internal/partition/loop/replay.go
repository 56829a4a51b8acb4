package loop

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/heddle-run/heddle/internal/journal"
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
	p.told.begin(&p.Config)
	p.intake.Processor = p
	p.ended = dispatches{Processor: p, queues: map[string]*outcomes{}}
	p.ledger.Processor, p.outside.Processor, p.parked.Processor, p.watch.Processor, p.reads.Processor = p, p, p, p, p
	p.stored, p.landed, p.tail = c.Applied, c.Applied, c.Applied
	p.epoch, p.seq = c.Applied.Position.Epoch, c.Applied.Position.Seq
	p.timers = timers{Processor: p, next: math.MinInt64, idle: map[rows.Key]struct{}{}}
	p.Tick()
	return p
}

// Recall reads the partition's own rows.
func (p *Processor) Recall() error {
	for _, source := range Inputs {
		l := &p.inputs[source]
		if _, err := p.Stored.Get(positionKey(source), &l.Row); err != nil {
			return fmt.Errorf("reading the position of %s: %w", source, err)
		}
		l.stamp = l.Row.Time
	}
	if _, err := p.Stored.Get(leaseKey, &p.lease); err != nil {
		return fmt.Errorf("reading the lease: %w", err)
	}
	var replay replayRow
	if _, err := p.Stored.Get(replayKey, &replay); err != nil {
		return fmt.Errorf("reading the replay request: %w", err)
	}
	p.rewound = replay.Cursor
	if err := p.ended.recall(); err != nil {
		return fmt.Errorf("reading the dispatch records: %w", err)
	}
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
	out := p.replayed(rec, guarded)
	if guarded {
		if e, ok := About(rec).(*events.WorkflowQuarantined); ok {
			p.dropTimer(e)
		}
		p.applyOwned(rec.Workflow)
		return nil, nil
	}
	outs = p.worthwhile(rec, withOriginal(p.conclude(nil, rec, &out), rec, nil))
	if bad := p.intake.foldPositions(rec); bad != nil {
		panic(bad) // contained above
	}
	p.apply()
	return outs, nil
}

// took moves the processor behind a replayed record.
func (p *Processor) took(rec *events.Record, at journal.Mark) {
	p.tail = at
	p.epoch, p.seq = rec.Position.Epoch, rec.Position.Seq
	p.Tick() // it may have been made since the replay began
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
	writes := p.tx.Writes()
	p.State.Apply(writes, p.n)
	p.ended.applied(writes)
	p.tx.Reset()
}

// applyOwned keeps what a record changed of its workflow's own rows.
func (p *Processor) applyOwned(workflow string) {
	all := p.tx.Writes()
	own := make([]rows.Write, 0, len(all))
	for _, w := range all {
		if workflow != "" && w.Key.Owner() == workflow {
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

// Rerelease sends what is not known to be out: the outbox, and once the inbox is
// read the tasks of open attempts that nobody has taken. What
// there is no room for is parked and follows. What was asked before may have taken longer than
// the lease lasts.
func (p *Processor) Rerelease() error {
	if p.Flaws.NoRerelease.On() {
		return nil
	}
	p.Tick()
	if err := p.rereleaseKept(); err != nil {
		return err
	}
	return p.rewatch()
}

// rereleaseKept sends what the outbox has.
func (p *Processor) rereleaseKept() error {
	if err := p.parked.forgetNotes(); err != nil {
		return err
	}
	return scanOutbox(p.Stored, func(k rows.Key, row *outboxRow) {
		o := outgoing(k, row)
		switch {
		case row.Original != nil: // its input is gone, as will be said
		case p.parked.roomAgain():
			p.outside.release(o)
		default:
			p.parked.park(o, p.Log.Destination(o), nil)
		}
	})
}

// rowScanner is a store whose rows are visited in the order of their keys.
type rowScanner interface {
	Scan(from rows.Key, visit func(k rows.Key, value []byte) bool) error
}

// scanOutbox visits the effects that are not known to be out.
func scanOutbox(s rowScanner, visit func(rows.Key, *outboxRow)) error {
	var bad error
	err := s.Scan(firstEffect, func(k rows.Key, value []byte) bool {
		row := &outboxRow{}
		if bad = wire.Unmarshal(clone(value), row); bad == nil {
			visit(k, row)
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("reading the outbox: %w", err)
	}
	return nil
}

// rewatch makes the list of open attempts again. The tasks of those that nobody
// is known to have are published again once the inbox is read. So are all that were
// decided before the inbox last jumped, as what workers have said of them may be lost:
// the journal says so, whichever tenure found it out, and however that one ended.
func (p *Processor) rewatch() error {
	var bad error
	var tries []try
	err := p.Stored.ScanTable(rows.Runnable, func(k rows.Key, value []byte) bool {
		row := p.Machine.Watched(k.Workflow)
		if bad = wire.Unmarshal(clone(value), row); bad != nil {
			return false
		}
		tries = appendTries(tries, []rows.Write{{Key: k, Row: row}})
		if !tries[len(tries)-1].open {
			tries = tries[:len(tries)-1]
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return fmt.Errorf("reading open attempts: %w", err)
	}
	// In this order each is the newest of its queue's list, and found without a search.
	slices.SortStableFunc(tries, func(x, y try) int { return cmp.Compare(placeOf(&x.row), placeOf(&y.row)) })
	for i := range tries {
		p.watch.note(&tries[i], p.clock.now)
	}
	p.Tick() // all rows were read
	jumped := p.inputs[events.FromInbox].Row.Jumped
	p.watch.publishAgain(p.watch.unheard(jumped), true)
	p.watch.publishAgain(p.watch.untaken(jumped), false)
	return p.fault
}
