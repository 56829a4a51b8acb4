package loop

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// flight is a record from its decision to its acknowledgement.
type flight struct {
	n      uint64 // ascending through all that this owner applied
	rec    events.Record
	mark   journal.Mark // the offset once acknowledged
	tries  []try        // what it changes of attempts, for the watch
	outs   []*Outgoing
	told   []machine.Told // what there is to tell the observer
	read   [Logs]Reached  // of the input logs once it is acknowledged (J3)
	size   int
	ran    time.Duration // of the owner's monotonic clock, when it was appended
	acked  bool
	due    bool
	inHand bool   // the workflow has work in hand behind it
	after  func() // what the owner does once it is acknowledged
}

// queue is the flights in order of their seq.
type queue struct {
	all   []*flight
	bytes int
	spare spares[flight]
}

// new is an empty flight, not in the queue.
func (q *queue) new() *flight { return q.spare.take() }

// done takes a flight that nothing refers to any more; its lists are used again.
func (q *queue) done(f *flight) {
	clear(f.tries)
	clear(f.outs)
	clear(f.told)
	q.spare.keep(f, flight{tries: f.tries[:0], outs: f.outs[:0], told: f.told[:0]})
}

func (q *queue) len() int { return len(q.all) }

func (q *queue) push(f *flight) {
	q.all = append(q.all, f)
	q.bytes += f.size
}

// newest is the last flight, or nil.
func (q *queue) newest() *flight {
	if len(q.all) == 0 {
		return nil
	}
	return q.all[len(q.all)-1]
}

// landed removes and returns the acknowledged ones at the front.
func (q *queue) landed() []*flight {
	n := 0
	for n < len(q.all) && q.all[n].acked {
		q.bytes -= q.all[n].size
		n++
	}
	done := q.all[:n:n]
	q.all = q.all[n:]
	return done
}

// PoisonedError is a failed append: the pipeline behind it is void.
type PoisonedError struct {
	Position events.Position
	Err      error
}

func (e *PoisonedError) Error() string {
	return fmt.Sprintf("appending journal record %s: %v", e.Position, e.Err)
}

func (e *PoisonedError) Unwrap() error { return e.Err }

// DescentError is an acknowledged record that stands no further on in the journal
// than the one before it: the journal has lost its newest records, as by an unclean
// election, and whatever this owner knows of them is not so.
type DescentError struct {
	Position       events.Position
	Offset, Before int64 // where it stands, and where its predecessor was acknowledged
}

func (e *DescentError) Error() string {
	return fmt.Sprintf("journal record %s was acknowledged at offset %d, its predecessor at %d: the journal has lost records", e.Position, e.Offset, e.Before)
}

// acknowledged marks what the journal and the effects' topics have confirmed.
func (p *Processor) acknowledged(b *Batch) {
	for _, a := range b.Appended {
		p.appended(a)
	}
	for i := range b.Produced {
		p.outside.produced(&b.Produced[i])
	}
}

// appended takes one acknowledgement; a second one of the same record says nothing
// new. The first failure poisons: nothing that is acknowledged later is written or
// released (J1).
func (p *Processor) appended(a Appended) {
	if p.fault != nil || p.inflight.len() == 0 {
		return
	}
	first := p.inflight.all[0].mark.Position.Seq
	if a.Seq < first && a.Err == nil {
		return
	}
	i := int(a.Seq - first)
	if a.Seq < first || i >= p.inflight.len() {
		p.Fail(fmt.Errorf("append of seq %d was acknowledged, in flight are %d from %d", a.Seq, p.inflight.len(), first))
		return
	}
	f := p.inflight.all[i]
	if a.Err != nil {
		p.Fail(&PoisonedError{Position: f.mark.Position, Err: a.Err})
		return
	}
	if f.acked {
		return
	}
	before := int64(-1)
	switch {
	case i > 0:
		before = p.inflight.all[i-1].mark.Offset
	case !p.landed.IsZero():
		before = p.landed.Offset
	}
	switch {
	case a.Offset < 0: // known to be written, not where: no earlier than behind its predecessor
		a.Offset = before + 1
	case a.Offset <= before:
		p.Fail(&DescentError{Position: f.mark.Position, Offset: a.Offset, Before: before})
		return
	}
	f.acked, f.mark.Offset = true, a.Offset
}

// Stalled reports whether the oldest append has waited for longer than a lease. Then
// the lease is not renewed: what this owner cannot write another one may.
func (p *Processor) Stalled() bool {
	return p.inflight.len() > 0 && p.clock.ran-p.inflight.all[0].ran > p.Settings.Lease
}

// settle releases the effects of all acknowledged records. The store gets them
// a little later (writing.go).
func (p *Processor) settle() {
	if p.fault != nil {
		return
	}
	done := p.inflight.landed()
	for _, f := range done {
		p.landed, p.landedN = f.mark, f.n
		p.Fail(p.intake.foldPositions(&f.rec))
		p.unwritten.add(f, p.clock.now)
		p.land(f)
		p.inflight.done(f)
	}
	p.Stats.Committed.Add(uint64(len(done)))
	clear(done) // their room in the queue is reused
	p.caughtUp()
}

// land releases an acknowledged record's effects and tells what follows it.
func (p *Processor) land(f *flight) {
	for _, s := range Inputs {
		p.inputs[s].Durable = f.read[s]
	}
	if len(f.told) > 0 {
		p.Observer.Observe(&f.rec, f.told)
	}
	for i := range f.tries {
		p.watch.note(&f.tries[i], p.clock.now)
	}
	for _, o := range f.outs {
		p.outside.release(o)
	}
	if f.due {
		p.due[f.rec.Workflow] = struct{}{}
	}
	if f.after != nil {
		f.after()
	}
}

// caughtUp lets the positions of dropped inputs count once every record
// appended before is acknowledged (J3).
func (p *Processor) caughtUp() {
	if p.inflight.len() > 0 {
		return
	}
	for _, s := range Inputs {
		p.inputs[s].Durable = p.inputs[s].Reached()
	}
}
