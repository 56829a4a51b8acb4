package loop

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/rows"
)

// unwritten is what is acknowledged and released and not in the store yet.
//
// The store is no point of durability: it has no write-ahead log, and a crash
// takes it back to some earlier batch anyway, from where the journal is replayed.
// So its batches may be late and large: of the rows that a workflow changes in
// every step only the last version is written, and what was created and deleted
// meanwhile (runnables, attempts, acknowledged effects) never is. What counts is
// that a batch is whole: rows, positions, the mark of its last record, and the
// outbox of every effect up to it that is not known to be out (E1).
type unwritten struct {
	records int
	bytes   int
	since   int64       // Unix ms of the oldest
	kept    []*Outgoing // effects that want an outbox row, unless they are out by then
}

func (u *unwritten) add(f *flight, now int64) {
	if u.records == 0 {
		u.since = now
	}
	u.records++
	u.bytes += f.size
	for _, o := range f.outs {
		if o.kept {
			u.kept = append(u.kept, o)
		}
	}
}

// writeWhenDue writes once enough has come together or the oldest is old enough.
func (p *Processor) writeWhenDue() {
	u, s := &p.unwritten, &p.Settings
	if u.records == 0 {
		return
	}
	if u.records >= s.WriteRecords || u.bytes >= s.WriteBytes || p.clock.now-u.since >= s.WriteDelay.Milliseconds() {
		p.Write()
	}
}

// Write brings the store up to the newest acknowledged record, in one batch.
func (p *Processor) Write() {
	if p.fault != nil || p.unwritten.records == 0 && len(p.acked) == 0 && len(p.parked.notes.writes) == 0 {
		return
	}
	if err := p.State.Commit(p.landedN, p.landed, p.collect()); err != nil {
		p.Fail(fmt.Errorf("writing records up to %s: %w", p.landed.Position, err))
		return
	}
	p.stored, p.storedN = p.landed, p.landedN
	clear(p.unwritten.kept)
	p.unwritten = unwritten{kept: p.unwritten.kept[:0]}
}

// collect is what a batch has besides the records' changes: outbox and positions.
func (p *Processor) collect() []rows.Write {
	more := make([]rows.Write, 0, len(p.unwritten.kept)+len(p.acked)+len(Inputs))
	for _, o := range p.unwritten.kept {
		if !o.out {
			o.written = true
			more = append(more, rows.Write{Key: o.Row(), Row: o.outboxRow(), Created: true})
		}
	}
	for _, k := range p.acked {
		more = append(more, rows.Write{Key: k})
	}
	p.acked = p.acked[:0]
	if len(p.parked.notes.writes) > 0 {
		more = append(more, p.parked.notes.take()...)
	}
	return append(more, p.intake.positionWrites()...)
}
