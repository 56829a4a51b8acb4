package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// reply is the reply to the command that a record decides.
func (fx *effects) reply(list []events.Event) events.Reply {
	r := events.Reply{Kind: events.ReplyDecided, Workflow: fx.id, Result: events.ResultDone}
	for _, e := range list {
		switch e := e.(type) {
		case *events.CommandRefused:
			r.Result, r.Command = events.ResultRefused, e.Command
			r.Refusal = &events.Refusal{Code: e.Code, Message: e.Message, Path: e.Path}
		case *events.CommandIgnored:
			r.Result, r.Command = events.ResultNoChange, e.Command
		}
	}
	if fx.exists() && fx.in.ReplyTo.Address != "" {
		s := fx.view.summary()
		s.Refusals, s.Signals, s.Notice = nil, nil, nil // the ledger keeps answers: they do not grow with what was there before
		r.Summary = &s
		r.Followed = fx.waits(fx.in.ReplyTo)
	}
	return r
}

// waits reports whether a caller is, or was by this very record, among those who
// are told when the workflow has drained.
func (fx *effects) waits(to events.ReplyTo) bool {
	w := waiter{to.Address, to.ID}
	return to.Wait && (slices.Contains(fx.head.Waiters, w) || slices.Contains(fx.head.Told, w))
}

// due reports whether a record makes the workflow due in the next checkpoint, by its strategy.
func (fx *effects) due(list []events.Event) bool {
	if fx.head == nil {
		return true // deleted: its rows leave the changelog
	}
	asked, rested := restsOrAsks(list)
	if asked || fx.head.Status == Stopped && rested {
		return asked || fx.head.Persist
	}
	switch o := fx.options().Checkpoint; o.Strategy {
	case definition.EveryN: // more than one outcome of a record may pass a multiple of N, and end behind it
		n, before := uint64(max(o.N, 1)), fx.head.Outcomes-outcomes(list)
		return fx.head.Outcomes/n > before/n
	case definition.OnComplete:
		return rested || fx.head.Status == Failed && fx.head.drained() && outcomes(list) > 0 // what was active as it failed
	case definition.Manual:
		return false
	default:
		return true
	}
}

// restsOrAsks reports whether a record asks for a checkpoint, and whether it brings
// the workflow to rest.
func restsOrAsks(list []events.Event) (asked, rested bool) {
	for _, e := range list {
		switch e.(type) {
		case *events.CheckpointRequested:
			asked = true
		case *events.WorkflowIdle, *events.WorkflowFailed, *events.WorkflowStopped,
			*events.WorkflowCancelled, *events.WorkflowCompleted:
			rested = true
		}
	}
	return asked, rested
}

// Checkpoints says what of events matters to a checkpoint strategy: whether they ask for a checkpoint, whether they bring the
// workflow to rest, and how many attempts end with them.
func Checkpoints(list []events.Event) (asked, rested bool, ended uint64) {
	asked, rested = restsOrAsks(list)
	return asked, rested, outcomes(list)
}

// outcomes is how many attempts a record ends, by its events.
func outcomes(list []events.Event) (n uint64) {
	for _, e := range list {
		switch e.(type) {
		case *events.RunnableCompleted, *events.RunnableFailed, *events.RunnableTimedOut, *events.RunnableLost:
			n++
		}
	}
	return n
}
