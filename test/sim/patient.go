package sim

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// patient is a machine with a flaw: no timer ends an attempt that is silent.
type patient struct{ machine.Machine }

// Decide implements machine.Machine.
func (p patient) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := p.Machine.Decide(tx, at, now, in)
	disarm(tx)
	return out
}

// Apply implements machine.Machine.
func (p patient) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	out := p.Machine.Apply(tx, rec, guarded)
	disarm(tx)
	return out
}

func disarm(tx *rows.Tx) {
	for _, w := range slices.Clone(tx.Writes()) {
		if w.Row != nil && w.Key.Table == rows.Timer && w.Key.C == machine.TimerSilent {
			tx.Delete(w.Key)
		}
	}
}
