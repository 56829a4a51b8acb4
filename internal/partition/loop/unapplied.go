package loop

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// defective quarantines a replayed record that cannot be applied: the workflow
// stays as it was before it, and everything else is as if the record had met its
// defect when it was decided (J6). The row that stands for it lasts until the
// journal says so too, so that it is said once, however often it is replayed. A
// guarded record may rest on partition keys that have moved on since, of a
// workflow that was deleted: then nothing is amiss.
func (p *Processor) defective(rec *events.Record, defect string, guarded bool) (outs []*Outgoing) {
	if guarded {
		p.apply()
		return nil
	}
	p.Stats.Quarantined.Add(1)
	p.Logger.Error("a record of the journal cannot be applied", "position", rec.Position.String(), "workflow", rec.Workflow, "defect", defect)
	reason := Shortened(fmt.Sprintf("journal record %s cannot be applied: %s", rec.Position, defect))
	rec.Events = []events.Event{&events.WorkflowQuarantined{Reason: reason}}
	again := p.contained(func() {
		outs = p.worthwhile(rec, withOriginal(p.conclude(nil, rec, &machine.Outcome{}), rec, nil))
		p.tx.Put(unappliedKey(rec.Position), &unappliedRow{Workflow: rec.Workflow, Reason: reason})
	})
	if again != "" {
		p.Fail(fmt.Errorf("quarantining journal record %s: %s", rec.Position, again))
	}
	p.Fail(p.intake.foldPositions(rec))
	p.apply()
	return outs
}

// Owed lets the owner record, in its first turn, the quarantines that only its
// rows know of.
func (p *Processor) Owed() error {
	bad := p.contained(func() {
		rows.Scan(p.tx, rows.Key{Table: rows.Runtime, A: unapplied}, func(k rows.Key, row *unappliedRow) bool {
			if k.A != unapplied {
				return false
			}
			p.urgent = append(p.urgent, func() bool { return p.quarantineRecord(k, row) })
			return true
		})
	})
	if bad != "" {
		p.Fail(fmt.Errorf("reading the quarantined records: %s", bad))
	}
	return p.fault
}

// quarantineRecord records that a record could not be applied; what is dropped
// as its input is the row that stands for it.
func (p *Processor) quarantineRecord(k rows.Key, row *unappliedRow) bool {
	return p.decide(&decision{
		in:  machine.Input{Workflow: row.Workflow, Source: events.FromEngine},
		own: &events.WorkflowQuarantined{Reason: row.Reason, Timer: k.Append(nil)},
	})
}
