package loop

import (
	"slices"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Replay applies one record of the journal, whose effects are outbox rows with the next
// batch of the store. guarded is as of replayRecord.
func (p *Processor) Replay(rec *events.Record, at journal.Mark, guarded bool) error {
	outs, err := p.replayRecord(rec, at, guarded)
	if err != nil {
		return err
	}
	if e, ok := About(rec).(*events.EffectFailed); ok {
		p.takeBack(e)
	}
	for _, o := range outs {
		if p.Flaws.OriginalsInMemory.On() && o.Original != nil {
			p.remembered = append(p.remembered, o)
			continue
		}
		p.owing = append(p.owing, rows.Write{Key: o.Row(), Row: o.outboxRow(), Created: true})
	}
	return nil
}

// takeBack takes an effect back that was made of an earlier record and refused for
// good: made again it would be released with every recovery.
func (p *Processor) takeBack(e *events.EffectFailed) {
	k := failedRow(e)
	p.owing = slices.DeleteFunc(p.owing, func(w rows.Write) bool { return w.Key == k })
}

// WriteReplayed brings the store up to the newest replayed record.
func (p *Processor) WriteReplayed() error {
	if p.fault != nil {
		return p.fault
	}
	if err := p.State.Commit(p.n, p.tail, append(p.owing, p.intake.positionWrites()...)); err != nil {
		return err
	}
	p.stored, p.storedN = p.tail, p.n
	p.landed, p.landedN = p.tail, p.n
	p.owing = nil
	return nil
}
