package sim

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// undated is a machine with a flaw: no record says until when a runnable must have ended.
type undated struct{ machine.Machine }

// Decide implements machine.Machine.
func (u undated) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := u.Machine.Decide(tx, at, now, in)
	for _, e := range out.Events {
		if ready, is := e.(*events.RunnableReady); is {
			ready.EndBy = 0
		}
	}
	return out
}
