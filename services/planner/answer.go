package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Answer implements machine.Machine.
func (p *Planner) Answer(tx *rows.Tx, rec *events.Record) events.Reply {
	t := p.after(tx, rec)
	r := events.Reply{Kind: events.ReplyDecided, Workflow: rec.Workflow, Result: events.ResultDone}
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.CommandRefused:
			r.Result, r.Command = events.ResultRefused, e.Command
			r.Refusal = &events.Refusal{Code: e.Code, Message: e.Message, Path: e.Path}
		case *events.CommandIgnored:
			r.Result, r.Command = events.ResultNoChange, e.Command
		}
	}
	if t.head != nil && rec.ReplyTo.Address != "" {
		s := t.summary()
		s.Refusals = nil // the ledger keeps answers: they do not grow with what was refused before
		r.Summary = &s
		r.Followed = t.waits(rec.ReplyTo)
	}
	return r
}

// waits says whether an asker is, or was by this very record, among those who
// are told when the workflow has drained.
func (t *turn) waits(to events.ReplyTo) bool {
	w := waiter{to.Address, to.ID}
	return to.Wait && (slices.Contains(t.head.Waiters, w) || slices.Contains(t.head.Told, w))
}

// Applied implements machine.Machine (C1).
func (p *Planner) Applied(tx *rows.Tx, workflow string) events.Position {
	if h := rows.Get[header](tx, headerKey(workflow)); h != nil {
		return h.Applied
	}
	return events.Position{}
}

// Due implements machine.Machine: the checkpoint strategies of document 2.
func (p *Planner) Due(tx *rows.Tx, rec *events.Record) bool {
	t := p.after(tx, rec)
	if t.head == nil {
		return true // deleted: its rows leave the changelog
	}
	asked, rested := restsOrAsks(rec.Events)
	if asked || t.head.Status == Stopped && rested {
		return asked || t.head.Persist
	}
	switch o := t.options().Checkpoint; o.Strategy {
	case definition.EveryN:
		return t.head.Outcomes > 0 && t.head.Outcomes%uint64(max(o.N, 1)) == 0 && hasOutcome(rec.Events)
	case definition.OnComplete:
		return rested
	case definition.Manual:
		return false
	default:
		return true
	}
}

// restsOrAsks says whether a record asks for a checkpoint, and whether it brings
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

func hasOutcome(list []events.Event) bool {
	for _, e := range list {
		switch e.(type) {
		case *events.RunnableCompleted, *events.RunnableFailed, *events.RunnableTimedOut, *events.RunnableLost:
			return true
		}
	}
	return false
}
