package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
)

// idleForKind passes what arrived on when another component has been silent, in the same
// scope, for a time. That time begins when the value arrives, and again with each fact of
// the other component. One that does not run is silent too, so the end always comes.
type idleForKind struct{}

func (idleForKind) traits(*definition.Component) traits { return traits{} }

func (idleForKind) arrive(i invocation) {
	d, err := i.c.Idle.For.Of(i.env())
	if err != nil {
		i.fail(err)
		return
	}
	i.awaitSilence(d)
}

func (idleForKind) wake(i invocation) { i.endWait() }

func (idleForKind) waitsForTime(c *definition.Component, _ *runnable) string {
	return fmt.Sprintf("silence of %q", c.Idle.Of)
}
