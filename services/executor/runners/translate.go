package runners

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// Reported is what an event of a runner comes to: what the pool is told, and of its attempt the workflow, if that is told
// anything. It needs no Server: the simulation of clusters has executors that translate as a Server does.
func Reported(e *frames.Event, runner string, now time.Time) (event events.RunnerEvent, workflow string, m events.InboxMessage) {
	t, _ := tellOf(e, runner, now) // of an attempt whose token is none there is an event all the same
	return t.event, t.workflow, t.message
}

// Ordered is a command of a pool as its runner is given it; an error says that it cannot be read.
func Ordered(c *events.RunnerCommand) (frames.Order, error) { return orderOf(c) }
