package sim

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// contextless is a machine with a flaw: what a start gives to components alone is lost where its
// record is replayed.
type contextless struct{ machine.Machine }

// Apply implements machine.Machine.
func (c contextless) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	lost := *rec
	lost.Events = slices.Clone(rec.Events)
	for i, e := range lost.Events {
		if started, is := e.(*events.WorkflowStarted); is && len(started.Own) > 0 {
			bare := *started
			bare.Own = nil
			lost.Events[i] = &bare
		}
	}
	return c.Machine.Apply(tx, &lost, guarded)
}
