package planner

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// How many signals a run keeps that nobody has taken, and of how many bytes.
const (
	maxSignals     = 1000
	maxSignalBytes = 4 << 20
)

// signal gives a value to the runnable that has waited longest for it, or keeps it for
// one that will. While the workflow is paused or failed it is held, as an input is.
func (t *turn) signal(b *events.SignalWorkflow) {
	t.spend.brings(b.Input)
	if !t.open(false) {
		return
	}
	number, ok := t.graph().SignalNamed(b.Name)
	if !ok {
		t.refuseAt("unknown_signal", "name", fmt.Sprintf("no component waits for a signal %q; %s", b.Name, t.graph().NearestSignal(b.Name)))
		return
	}
	value, ok := t.intake.signal(&t.graph().Signals[number], b)
	if !ok {
		return
	}
	waiter := events.RunnableID(t.signals.oldest(waits, uint32(number), b.Key))
	if waiter == 0 && !t.roomForSignal(len(value)) {
		return
	}
	n := t.head.signalled().Received + 1
	t.emit(&events.SignalReceived{
		Signal: n, Name: b.Name, Key: b.Key, Value: value, Expires: t.now + t.options().SignalTTL.Milliseconds(),
		Held: t.head.Status == Paused || t.head.Status == Failed, By: b.By,
	})
	if waiter != 0 {
		t.takeSignal(waiter, n)
	}
}

// takeSignal completes a runnable with a signal.
func (t *turn) takeSignal(id events.RunnableID, n uint64) {
	r := t.runs.get(id)
	c, s, f := t.component(r.Component), r.Scope, t.nextFact()
	t.emit(&events.SignalTaken{Runnable: id, Fact: f, Signal: n})
	t.flow.yield(c, s, f)
}

// roomForSignal refuses a signal that nobody waits for when too many are kept already.
func (t *turn) roomForSignal(bytes int) bool {
	n := t.head.signalled()
	if n.Kept < maxSignals && n.Bytes+uint64(bytes) <= maxSignalBytes {
		return true
	}
	t.refuse("too_many_signals", fmt.Sprintf("nobody has taken %d signals of %d bytes, and no more than %d of %d bytes are kept; they expire (signal_ttl)",
		n.Kept, n.Bytes, maxSignals, maxSignalBytes))
	return false
}

// signal checks the key and the value of a signal.
func (it *intake) signal(s *definition.SignalName, b *events.SignalWorkflow) (json.RawMessage, bool) {
	switch {
	case b.Key == "" && !s.Single:
		it.refuseAt("missing_field", "key", fmt.Sprintf("each component that waits for the signal %q wants a key", s.Name))
		return nil, false
	case b.Key != "" && !s.Keyed:
		it.refuseAt("invalid_field", "key", fmt.Sprintf("no component that waits for the signal %q wants a key", s.Name))
		return nil, false
	case len(b.Key) > definition.MaxSignalKey:
		it.refuseAt("invalid_field", "key", fmt.Sprintf("it has %d bytes, the limit is %d", len(b.Key), definition.MaxSignalKey))
		return nil, false
	}
	raw := b.Input
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	value, ok := it.compact("input", raw)
	if !ok {
		return nil, false
	}
	value, err := s.Accept(value)
	if err != nil {
		path := "input"
		if list, is := errors.AsType[definition.Errors](err); is && len(list) > 0 {
			path = list[0].Path
		}
		it.refuseAt("invalid_input", path, err.Error())
		return nil, false
	}
	return value, true
}
