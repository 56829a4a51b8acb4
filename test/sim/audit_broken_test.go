package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/calls"
)

// of makes a call with its ticks.
func of(c calls.Call, began, ended int64) *calls.Call {
	c.Workflow, c.Began, c.Ended = "w", began, ended
	return &c
}

func says(status, position string) events.Reply {
	body := fmt.Sprintf(`{"run":"1.2","status":%q,"position":%q}`, status, position)
	return events.Reply{Result: events.ResultDone, Body: json.RawMessage(body)}
}

// What counts of a partition whose lease was broken at tick 20: the deposed owner
// wrote 1.4, which is void, and may answer until tick 40.
func TestWhatCountsOfABrokenLease(t *testing.T) {
	at := func(epoch, seq uint64) events.Position { return events.Position{Epoch: epoch, Seq: seq} }
	start := of(calls.Call{What: "start", ID: "start", Reply: says("running", "1.2")}, 1, 5)
	pause := calls.Call{What: "pause", ID: "pause", Reply: says("paused", "1.4")}
	read := func(status, position string) calls.Call {
		return calls.Call{What: calls.Asking + "workflow", Reply: says(status, position)}
	}
	cancel := calls.Call{What: "cancel", ID: "cancel", Reply: says("cancelled", "2.3")}
	missed := calls.Call{What: calls.Asking + "workflow", Reply: events.Reply{Refusal: &events.Refusal{Code: "not_found"}}}
	odd := at(1, 6) // the record of a command whose id was another's: it has none
	conflict := calls.Call{What: "input", ID: "start", Reply: says("running", "1.6")}
	conflict.Reply.Refusal = &events.Refusal{Code: "conflict"}
	b := &breach{
		lawful: map[events.Position]int64{at(1, 2): 3, at(2, 2): 30, at(2, 3): 34},
		next:   map[events.Position]int64{at(1, 2): 30, at(2, 2): 34},
		void:   map[string]map[events.Position]bool{decisionKey(of(pause, 0, 0)): {at(1, 4): true}, "w\x00": {odd: true}},
		undone: map[events.Position]bool{at(1, 4): true, odd: true},
		answers: map[string]answer{
			decisionKey(of(pause, 0, 0)): {says("paused", "2.2"), 30},
		},
		doubts: []doubt{{20, 40}},
	}
	for _, c := range []struct {
		name   string
		calls  []*calls.Call
		lawful bool
	}{
		{"an answer that is void, and the same decided again", []*calls.Call{of(pause, 21, 22), of(read("paused", "2.2"), 31, 32)}, true},
		{"a read of the deposed owner before it is decided again", []*calls.Call{of(pause, 21, 22), of(read("running", "1.2"), 23, 24)}, true},
		{"an old read while the lease may last", []*calls.Call{of(pause, 21, 22), of(read("running", "1.2"), 36, 37)}, true},
		{"an old read later", []*calls.Call{of(pause, 21, 22), of(read("running", "1.2"), 41, 42)}, false},
		{"a read of what is void while the lease may last", []*calls.Call{of(pause, 21, 22), of(read("paused", "1.4"), 25, 26)}, true},
		{"a read of what is void later", []*calls.Call{of(pause, 21, 22), of(read("paused", "1.4"), 41, 42)}, false},
		{"a read of what nobody wrote", []*calls.Call{of(read("paused", "1.5"), 25, 26)}, false},
		{"a command that is told of the void record of another", []*calls.Call{of(calls.Call{What: "stop", ID: "stop", Reply: says("stopping", "1.4")}, 21, 22)}, false},
		{"a refusal of a command under a used id, that is void", []*calls.Call{of(conflict, 21, 22)}, true},
		{"a command that was answered and is gone", []*calls.Call{of(pause, 21, 22), of(read("running", "2.3"), 45, 46)}, false},
		{"a command of the new owner, an old read", []*calls.Call{of(pause, 21, 22), of(cancel, 33, 35), of(read("paused", "2.2"), 36, 37)}, true},
		{"a command of the new owner, an old read later", []*calls.Call{of(pause, 21, 22), of(cancel, 33, 35), of(read("paused", "2.2"), 41, 42)}, false},
		{"nothing there before the break", []*calls.Call{of(missed, 10, 11)}, false},
		{"nothing there behind the lease", []*calls.Call{of(missed, 41, 42)}, false},
	} {
		h, errs := b.histories(slices.Concat([]*calls.Call{start}, c.calls))
		if err := h["w"].Check(); (err == nil && len(errs) == 0) != c.lawful {
			t.Errorf("%s: want lawful %v: %v %v", c.name, c.lawful, errs, err)
		}
	}
}
