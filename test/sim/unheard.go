package sim

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// unheard is a machine with a flaw: that a worker has begun an attempt ends no wait for one.
type unheard struct {
	machine.Machine
	known map[rows.Key]rows.Row // as they were written last
}

// Decide implements machine.Machine.
func (u *unheard) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := u.Machine.Decide(tx, at, now, in)
	writes := slices.Clone(tx.Writes())
	begun := endsWait(writes) && slices.ContainsFunc(out.Events, func(e events.Event) bool {
		_, is := e.(*events.RunnableNotified)
		return is
	})
	for _, w := range writes {
		switch old := u.known[w.Key]; {
		case w.Key.Table != rows.Timer && w.Key.Table != rows.Runnable:
		case begun && old != nil:
			tx.Put(w.Key, old)
		case w.Row == nil:
			delete(u.known, w.Key)
		default:
			u.known[w.Key] = w.Row
		}
	}
	return out
}

// endsWait reports whether the timer of a wait for a worker is taken away.
func endsWait(writes []rows.Write) bool {
	return slices.ContainsFunc(writes, func(w rows.Write) bool {
		return w.Row == nil && w.Key.Table == rows.Timer && w.Key.C == machine.TimerStart
	})
}
