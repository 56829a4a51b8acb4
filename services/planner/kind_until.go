package planner

import (
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

// untilKind passes what arrived on at a time.
type untilKind struct{}

func (untilKind) traits(*definition.Component) traits { return traits{} }

func (untilKind) arrive(i invocation) {
	at, err := i.c.Until.Of(i.env())
	if err != nil {
		i.fail(err)
		return
	}
	i.waitUntil(at.Add(time.Millisecond - 1).UnixMilli()) // never before it
}

func (untilKind) wake(i invocation) { i.endWait() }

func (untilKind) waitsForTime(*definition.Component, *runnable) string { return "its time" }
