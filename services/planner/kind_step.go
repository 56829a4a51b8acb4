package planner

import (
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// stepKind runs a task: its runnables are attempted by takers.
type stepKind struct{}

func (stepKind) traits() traits { return traits{queued: true} }

// arrive lines the runnable up for admission. External attempts take no room and
// need not wait for it.
func (stepKind) arrive(i invocation) {
	if i.id != 0 {
		i.lineUp()
		return
	}
	t, pol := i.t, i.policy()
	id := i.ready(pol.Append(nil))
	if pol.Mode == policy.External && t.head.Status == Running {
		t.dispatch(id)
		return
	}
	t.fresh = append(t.fresh, readyEntry{pol.Priority.Rank(), i.depth, id})
}

// wake lines the runnable up for its next attempt.
func (stepKind) wake(i invocation) {
	i.t.emit(&events.TimerFired{Runnable: i.id})
	i.lineUp()
}

func (stepKind) waitsForTime(c *definition.Component, r *runnable) string {
	if closedAttempt(r) {
		return "its next attempt"
	}
	return unknownYet(c, r)
}
