package planner

import "github.com/heddle-run/heddle/shared/definition"

// reduceKind folds what comes of the elements of a map, or the elements of a list, in their
// order. A runnable of it goes through a list, or folds one element: with a task, or again
// where an expression has failed.
type reduceKind struct{}

func (reduceKind) traits(*definition.Component) traits { return traits{queued: true} }

func (reduceKind) arrive(i invocation) {
	switch {
	case i.foldsOne():
		i.foldAgain()
	case i.id != 0 && len(i.input) == 0 && i.hasList():
		i.fanOut()
	default:
		i.takeValue()
	}
}

// proceed folds the next elements of a list.
func (reduceKind) proceed(i invocation) bool { return i.foldList() }

// wake lines a task up for its next attempt.
func (reduceKind) wake(i invocation) { i.wakeUp() }

func (reduceKind) waitsForTime(c *definition.Component, r *runnable) string {
	if r.Fanned != nil {
		return "its elements to be folded"
	}
	return stepKind{}.waitsForTime(c, r)
}
