package loop

import (
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// ticking is a machine whose timer has something to do so many times, and is due all the while.
type ticking struct {
	*looptest.Counter
	left int
}

// Decide implements machine.Machine.
func (m *ticking) Decide(tx *rows.Tx, _ events.Position, _ int64, in machine.Input) machine.Outcome {
	if m.left--; m.left == 0 {
		tx.Delete(*in.Timer)
	}
	return machine.Outcome{Events: []events.Event{&events.TimerFired{}}}
}

// A timer whose record leaves it as it is, as that of a key with more permits to grant than a record takes, fires
// again at once: no other row brings it back.
func TestATimerThatStaysFiresAgain(t *testing.T) {
	m := newModel(t, Settings{})
	k := rows.Key{Table: rows.Timer, A: uint64(m.now.UnixMilli()), Workflow: "w", C: machine.TimerKey}
	m.memory.Commit([]rows.Write{{Key: k, Row: &machine.Timer{}}})
	m.p.Machine = &ticking{Counter: &looptest.Counter{}, left: 3}
	m.p.LookAtTimers()
	m.mustStep()
	if got := len(m.journal); got != 3 {
		t.Errorf("it has fired %d times, want 3", got)
	}
	if wake := m.p.NextWake(); wake == 0 {
		t.Error("it is gone, and the loop does not rest")
	}
}
