package sim

import (
	"encoding/json"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/heddle-run/heddle/shared/events"
)

// A read that misses what was answered before it was asked has no place in any
// order (E6).
func TestAStaleReadIsNoticed(t *testing.T) {
	started := &call{what: "start", reply: events.Reply{Result: "done", Body: json.RawMessage(`{"run":"1.2"}`)}}
	missed := &call{what: "query workflow", reply: events.Reply{Refusal: &events.Refusal{Code: "not_found"}}}
	at := func(c *call, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: c, Call: from, Return: to}
	}
	if porcupine.CheckOperations(existing, []porcupine.Operation{at(started, 1, 2), at(missed, 3, 4)}) {
		t.Error("a stale read is taken for lawful")
	}
	if !porcupine.CheckOperations(existing, []porcupine.Operation{at(started, 1, 4), at(missed, 2, 3)}) {
		t.Error("a read beside a start is refused")
	}
}
