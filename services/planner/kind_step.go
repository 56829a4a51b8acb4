package planner

import "github.com/heddle-run/heddle/shared/definition"

// stepKind runs a task: its runnables are attempted by workers.
type stepKind struct{}

func (stepKind) traits(*definition.Component) traits { return traits{queued: true} }

func (stepKind) arrive(i invocation) {
	if i.id != 0 {
		i.lineUp()
		return
	}
	i.enqueue()
}

// wake lines the runnable up for its next attempt.
func (stepKind) wake(i invocation) { i.wakeUp() }

func (stepKind) waitsForTime(c *definition.Component, r *runnable) string {
	if closedAttempt(r) {
		return "its next attempt"
	}
	return unknownYet(c, r)
}
