package sim

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// unheard is a machine with a flaw: what is heard of an attempt moves no timer of a kind. So the wait for
// a worker goes on where one has begun, and a task is silent that gives heartbeats.
type unheard struct {
	machine.Machine
	kind  uint64
	known map[rows.Key]rows.Row // as they were written last
}

// Decide implements machine.Machine.
func (u *unheard) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := u.Machine.Decide(tx, at, now, in)
	writes := slices.Clone(tx.Writes())
	begun := endsWait(writes, u.kind) && slices.ContainsFunc(out.Events, func(e events.Event) bool {
		_, notified := e.(*events.RunnableNotified)
		_, beats := e.(*events.RunnableHeartbeat)
		return notified || beats
	})
	for _, w := range writes {
		switch old := u.known[w.Key]; {
		case w.Key.Table != rows.Timer && w.Key.Table != rows.Runnable:
		case begun && old != nil:
			tx.Put(w.Key, old)
		case begun && w.Key.Table == rows.Timer && w.Key.C == u.kind: // of the next time
			tx.Delete(w.Key)
		case w.Row == nil:
			delete(u.known, w.Key)
		default:
			u.known[w.Key] = w.Row
		}
	}
	return out
}

// endsWait reports whether a timer of a kind is taken away.
func endsWait(writes []rows.Write, kind uint64) bool {
	return slices.ContainsFunc(writes, func(w rows.Write) bool {
		return w.Row == nil && w.Key.Table == rows.Timer && w.Key.C == kind
	})
}
