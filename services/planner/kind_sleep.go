package planner

import "github.com/heddle-run/heddle/shared/definition"

// sleepKind passes what arrived on after a time.
type sleepKind struct{}

func (sleepKind) traits(*definition.Component) traits { return traits{} }

func (sleepKind) arrive(i invocation) {
	d, err := i.c.Sleep.Of(i.env())
	if err != nil {
		i.fail(err)
		return
	}
	i.wait(d)
}

func (sleepKind) wake(i invocation) { i.endWait() }

func (sleepKind) waitsForTime(*definition.Component, *runnable) string { return "its time" }
