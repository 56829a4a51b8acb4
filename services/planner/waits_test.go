package planner

import (
	"cmp"
	"testing"
)

// A runnable that waits for a permit has a timer that asks for it again: that is not when the permit comes.
func TestWhenAPermitComesIsNotSaid(t *testing.T) {
	for _, c := range []struct {
		r    runnable
		want any
	}{
		{runnable{Status: runWaiting, Due: 1000}, "1970-01-01T00:00:01.000Z"},
		{runnable{Status: runWaiting, Due: 1000, Permit: &permit{}}, nil},
		{runnable{Status: runActive, Due: 1000, Permit: &permit{}}, "1970-01-01T00:00:01.000Z"},
		{runnable{Status: runReady}, nil},
	} {
		if got := dueOf(&c.r); got != c.want {
			t.Errorf("due at %d, permit %v: got %v, want %v", c.r.Due, c.r.Permit, got, c.want)
		}
	}
}

// Of an open attempt is told what its newest heartbeat says of a delivery, in our spelling; other details are the task's own.
func TestWhatAHeartbeatTellsOfADelivery(t *testing.T) {
	for _, c := range []struct {
		r       runnable
		details string
		want    string
	}{
		{runnable{Executor: "x", Notified: true}, ``, "x, which runs it"},
		{runnable{Executor: "x", Notified: true, Reason: "executor"}, `{"page": 4}`, "x, which runs it"},
		{runnable{Executor: "x", Notified: true}, `{"reason": "tired"}`, "x, which runs it"},
		{runnable{Executor: "x", Notified: true}, `[1]`, "x, which runs it"},
		{runnable{Executor: "x", Notified: true}, `{"reason": "leader_missing_deferred"}`, "x, which runs it"},
		{runnable{Executor: "x", Notified: true}, `{"delivery": "failed", "reason": "leader_missing_deferred"}`, "x, which runs it"},
		{runnable{Executor: "x", Notified: true}, `{"delivery": "pending", "reason": "leader_pane_missing_deferred"}`, "x, which runs it; its delivery: leader_missing_deferred"},
		{runnable{Executor: "x", Detached: true}, `{"delivery": "notified", "reason": "send_confirmed"}`, "completion by its token: x has handed it on; its delivery: send_confirmed"},
	} {
		c.r.Reason = cmp.Or(string(reasonIn([]byte(c.details))), c.r.Reason)
		if got := waitsForOutcome(nil, &c.r); got != c.want {
			t.Errorf("%s: %q, want %q", c.details, got, c.want)
		}
	}
}
