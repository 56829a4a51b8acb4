package sim

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// rekeying is a machine with a flaw: each attempt of a runnable has an idempotency key of its own.
type rekeying struct{ machine.Machine }

// Decide implements machine.Machine.
func (r rekeying) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := r.Machine.Decide(tx, at, now, in)
	out.Effects = slices.Clone(out.Effects)
	for i, e := range out.Effects {
		task := &events.Task{}
		if e.Kind != machine.TaskEffect || wire.Unmarshal(e.Value, task) != nil || task.Attempt < 2 {
			continue
		}
		task.IdempotencyKey += fmt.Sprintf("/%d", task.Attempt)
		out.Effects[i].Value = wire.Marshal(task)
	}
	return out
}
