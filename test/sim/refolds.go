package sim

import (
	"encoding/json"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// stale is a machine with a flaw: each second fold, or the begin of one by a task, leaves the
// component's row as it was, so that the next one is on the same state.
type stale struct {
	machine.Machine
	known map[rows.Key]rows.Row // as they were written last; of those that were left, none
}

// turnOf is whose turn a row of a state says that it is.
type turnOf struct{ fact, turn, first, next uint64 }

// Fields implements wire.Message.
func (t *turnOf) Fields(c *wire.Codec) {
	wire.Int(c, 1, "fact", &t.fact)
	wire.Int(c, 2, "turn", &t.turn)
	wire.Int(c, 3, "first", &t.first)
	wire.Int(c, 4, "next", &t.next)
}

// Decide implements machine.Machine.
func (s *stale) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := s.Machine.Decide(tx, at, now, in)
	for _, w := range append([]rows.Write(nil), tx.Writes()...) {
		if w.Key.Table != rows.State || w.Key.B != 0 {
			continue
		}
		if old := s.known[w.Key]; w.Row != nil && free(old) {
			tx.Put(w.Key, old)
			s.known[w.Key] = nil
			continue
		}
		s.known[w.Key] = w.Row
	}
	return out
}

// free reports whether nobody has the turn.
func free(row rows.Row) bool {
	if row == nil {
		return false
	}
	var t turnOf
	if err := wire.Unmarshal(wire.Marshal(row), &t); err != nil {
		panic(err)
	}
	return t.turn == 0
}

// twice is a machine with a flaw: a state machine goes two steps for each that arrives.
type twice struct{ machine.Machine }

// Decide implements machine.Machine.
func (t twice) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Command != nil {
		if start, ok := in.Command.Body.(*events.StartWorkflow); ok {
			c, s := *in.Command, *start
			s.Definition = stepTwice(s.Definition)
			c.Body, in.Command = &s, &c
		}
	}
	return t.Machine.Decide(tx, at, now, in)
}

// stepTwice puts what a state machine makes of its state in the place of that state.
func stepTwice(text []byte) []byte {
	var d map[string]any
	if json.Unmarshal(text, &d) != nil { // a name
		return text
	}
	components, _ := d["components"].(map[string]any)
	for _, c := range components {
		of, _ := c.(map[string]any)
		if step, is := of["state_machine"].(string); is {
			of["state_machine"] = strings.Replace(step, "state", "("+step+")", 1)
		}
	}
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}
