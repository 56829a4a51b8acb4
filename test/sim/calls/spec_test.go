package calls

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// answered is a call with what it was told of run 1.2.
func answered(what, result, status, position string) *Call {
	return &Call{What: what, Reply: events.Reply{Result: result, Body: told("1.2", status, position)}}
}

// refusedWith is a call that was refused by a workflow that is there.
func refusedWith(what, code, status, position string) *Call {
	c := answered(what, events.ResultRefused, status, position)
	c.Reply.Refusal = &events.Refusal{Code: code}
	return c
}

func told(run, status, position string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"run":%q,"status":%q,"position":%q}`, run, status, position))
}

// atIt is a call that was told that something is still being carried out.
func atIt(c *Call) *Call {
	c.Reply.Body = append(c.Reply.Body[:len(c.Reply.Body)-1], `,"in_hand":true}`...)
	return c
}

func deletion(body string) *Call {
	return &Call{What: "delete", Body: []byte(body), Reply: events.Reply{Result: "done"}}
}

// one makes a history of calls, one after the other.
func one(all ...*Call) History {
	var h History
	for i, c := range all {
		told := *c
		told.Began, told.Ended = int64(2*i+1), int64(2*i+2)
		h = append(h, &told)
	}
	return h
}

// beside lets the last two calls of a history overlap.
func beside(h History) History {
	h[len(h)-1].Began = h[len(h)-2].Began
	return h
}

// What the specification refuses is what no planner may answer, whatever order
// the calls took effect in (nothing acknowledged is
// missing; E6).
func TestHistoriesThatCannotBeAreRefused(t *testing.T) {
	start := answered("start", "done", "running", "1.2")
	paused := answered("pause", "done", "paused", "1.3")
	missed := &Call{What: "query workflow", Reply: events.Reply{Refusal: &events.Refusal{Code: "not_found"}}}
	for _, c := range []struct {
		name    string
		history History
		lawful  bool
	}{
		{"a life", one(start, paused, answered("input", "done", "paused", "1.5"), answered("resume", "done", "running", "1.6"),
			answered("query workflow", "done", "idle", "1.9"), answered("cancel", "done", "cancelled", "1.10"),
			refusedWith("input", "closed", "cancelled", "1.11"), deletion(`{}`), missed), true},
		{"a read that misses what was answered before", one(start, missed), false},
		{"a read beside a start", beside(one(start, missed)), true},
		{"a read of an older record", one(start, paused, answered("query workflow", "done", "running", "1.2")), false},
		{"a read of an older record beside what made it old", beside(one(start, paused, answered("query workflow", "done", "running", "1.2"))), true},
		{"a read of the same record that tells another state", one(start, paused, answered("query workflow", "done", "failed", "1.3")), false},
		{"a workflow that goes on by itself while it is paused", one(start, paused, answered("query workflow", "done", "running", "1.7")), false},
		{"a pause that is lost", one(start, paused, answered("pause", "done", "paused", "1.5")), false},
		{"a pause that was there", one(start, paused, answered("pause", "no_change", "paused", "1.5")), true},
		{"a pause of a workflow that has failed by then", one(start, refusedWith("pause", "invalid_state", "failed", "1.5")), true},
		{"a failure that is told of and gone", one(start, refusedWith("pause", "invalid_state", "failed", "1.5"), answered("query workflow", "done", "idle", "1.8")), false},
		{"a refusal that no state explains", one(start, paused, refusedWith("input", "stopped", "paused", "1.4")), false},
		{"a stop that ends while a resume waits", one(start, answered("stop", "done", "stopping", "1.3"), refusedWith("resume", "stopped", "stopping", "1.4"),
			answered("resume", "done", "running", "1.8")), true},
		{"a resume of what was never stopped", one(start, answered("resume", "done", "running", "1.3")), false},
		{"two commands decided by one record", one(start, paused, answered("cancel", "done", "cancelled", "1.3")), false},
		{"a start beside another that was obeyed", one(start, answered("start", "done", "running", "1.4")), false},
		{"a second start", one(start, refusedWith("start", "already_started", "running", "1.4")), true},
		{"a deletion of an open run", one(start, paused, deletion(`{}`)), false},
		{"a deletion of a run that may have completed", one(start, deletion(`{}`)), true},
		{"a forced deletion", one(start, deletion(`{"force":true}`)), true},
		{"a run that comes back from its deletion", one(start, deletion(`{"force":true}`), answered("query workflow", "done", "running", "1.2")), false},
		{"a retry in pieces that is read between them", one(start, answered("query workflow", "done", "failed", "1.5"), answered("retry", "done", "failed", "1.6"),
			atIt(answered("query workflow", "done", "failed", "1.6")), refusedWith("retry", "nothing_to_retry", "running", "1.8")), true},
		{"a failure and an outcome between the pieces of a retry", one(start, answered("query workflow", "done", "failed", "1.5"), answered("retry", "done", "failed", "1.6"),
			answered("fail", "done", "failed", "1.7"), answered("complete", "done", "failed", "1.8"), answered("query workflow", "done", "running", "1.10")), true},
		{"a failure behind a retry, which the retry takes up", one(start, answered("query workflow", "done", "failed", "1.5"), answered("retry", "done", "running", "1.6"),
			answered("fail", "done", "failed", "1.7"), answered("complete", "done", "failed", "1.8"), answered("query workflow", "done", "running", "1.10")), false},
		{"a retry in pieces that is said to be over", one(start, answered("query workflow", "done", "failed", "1.5"), answered("retry", "done", "failed", "1.6"),
			answered("query workflow", "done", "failed", "1.7"), answered("query workflow", "done", "running", "1.8")), false},
		{"the same, said as of the record of the retry", one(start, answered("query workflow", "done", "failed", "1.5"), answered("retry", "done", "failed", "1.6"),
			answered("query workflow", "done", "failed", "1.6"), answered("query workflow", "done", "running", "1.8")), false},
		{"something in hand of what runs", one(start, atIt(answered("query workflow", "done", "running", "1.5"))), false},
		{"nothing to retry in a workflow that has failed", one(start, answered("query workflow", "done", "failed", "1.5"), refusedWith("retry", "nothing_to_retry", "failed", "1.6")), false},
	} {
		if err := c.history.Check(); (err == nil) != c.lawful {
			t.Errorf("%s: taken for lawful: %v: %v", c.name, !c.lawful, err)
		}
	}
}
