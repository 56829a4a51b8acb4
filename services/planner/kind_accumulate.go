package planner

import "github.com/heddle-run/heddle/shared/definition"

// accumulateKind folds what arrives into a state that the workflow keeps, one at a time, by
// an expression or by a task.
type accumulateKind struct{}

func (accumulateKind) traits(c *definition.Component) traits { return traits{queued: c.Task != ""} }

func (accumulateKind) arrive(i invocation) {
	switch {
	case i.c.Task != "":
		i.initial()
		stepKind{}.arrive(i)
	case i.turn():
		i.fold()
	}
}

// proceed folds what has waited for its turn.
func (accumulateKind) proceed(i invocation) bool {
	i.fold()
	return false
}

// wake lines the runnable up for its next attempt.
func (accumulateKind) wake(i invocation) { i.wakeUp() }

func (accumulateKind) waitsForTime(c *definition.Component, r *runnable) string {
	if r.Due == 0 {
		return "its turn: what arrived before it is folded first, one at a time"
	}
	return stepKind{}.waitsForTime(c, r)
}
