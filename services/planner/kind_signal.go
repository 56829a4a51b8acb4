package planner

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

// signalKind waits for a signal, whose value becomes the fact.
type signalKind struct{}

func (signalKind) traits(*definition.Component) traits { return traits{} }

func (signalKind) arrive(i invocation) {
	env, s := i.env(), i.c.Signal
	key, err := s.KeyOf(env)
	var timeout time.Duration
	if err == nil && s.Timeout != nil {
		timeout, err = s.Timeout.Of(env)
	}
	if err != nil {
		i.fail(err)
		return
	}
	i.awaitSignal(key, timeout)
}

// wake reminds of the signal, or gives the wait for it up.
func (signalKind) wake(i invocation) {
	if !i.overdue() {
		i.remind()
		return
	}
	i.giveUp(fmt.Sprintf("no signal %q came in time", i.c.Signal.Name))
}

func (signalKind) waitsForTime(c *definition.Component, r *runnable) string {
	what := fmt.Sprintf("the signal %q", c.Signal.Name)
	if c.Signal.Key != nil {
		what += fmt.Sprintf(" with the key %q", r.Wait.Key)
	}
	switch r.Due { // which is shown behind this
	case 0:
		return what
	case r.Wait.Until:
		return what + "; gives up"
	}
	return what + "; reminds"
}
