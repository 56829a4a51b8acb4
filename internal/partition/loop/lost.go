package loop

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// lossPause is how long an attempt rests whose loss was decided. The record of
// its loss ends it long before; a decision that met a defect leaves it open.
const lossPause = 10 * time.Minute

// lost decides that an attempt's worker vanished.
func (w *watch) lost(k attemptKey, attempt uint32, reason string) bool {
	at := w.open[k]
	if at == nil || at.row.Attempt != attempt {
		return false
	}
	at.heard = w.clock.now + lossPause.Milliseconds()
	at.looked = at.heard
	w.Stats.Lost.Add(1)
	return w.decideLost(k, machine.Lost{Attempt: attempt, Reason: reason})
}

// decideLost has the machine decide what becomes of an attempt.
func (w *watch) decideLost(k attemptKey, l machine.Lost) bool {
	l.Runnable = k.runnable
	return w.decide(&decision{in: machine.Input{Workflow: k.workflow, Source: events.FromEngine, Lost: &l}})
}

// moved lets an attempt go, in its turn, where the attempts of its queue go by now. One whose machine says that it stays is
// published again where it is, if it was to be.
func (w *watch) moved(k attemptKey, at *watched, a *again) {
	attempt := at.row.Attempt
	w.urgent = append(w.urgent, func() bool {
		went := w.decideLost(k, machine.Lost{Attempt: attempt, Moved: true})
		if !went && !a.out && w.open[k] == at && at.row.Attempt == attempt && at.again == nil {
			w.onceRead(&again{keys: []attemptKey{k}, notified: a.notified})
		}
		return went
	})
}

// mostAsked bounds how often the time doubles between two questions about an attempt.
const mostAsked = 8

// askPool has the pool of an attempt asked, in its turn, whether it has it. What was said of it may be gone from an
// inbox, with or without a word of that.
func (w *watch) askPool(k attemptKey) {
	at := w.open[k]
	at.looked, at.asked = w.clock.now, min(at.asked+1, mostAsked)
	attempt := at.row.Attempt
	w.urgent = append(w.urgent, func() bool { return w.decideLost(k, machine.Lost{Attempt: attempt, Unsure: true}) })
}

// giveUp lets an attempt be lost whose task record can never be out, in its turn
// and, if that meets a defect, again.
func (w *watch) giveUp(k attemptKey, decided events.Position, reason string) {
	w.urgent = append(w.urgent, func() bool {
		at := w.open[k]
		if at == nil || at.row.Decided != decided {
			return false
		}
		at.stuck = reason
		return w.lost(k, at.row.Attempt, reason)
	})
}
