package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Decide implements machine.Machine. What it has no budget for is left in hand.
func (p *Planner) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	var t *turn
	if in.Limit > 0 {
		t = p.fitting(tx, at, now, in)
	} else {
		t = p.decide(tx, at, now, in, p.cfg.Budget, (*turn).take)
	}
	return t.effects.conclusion(t.events)
}

// decide decides an input within a budget.
func (p *Planner) decide(tx *rows.Tx, at events.Position, now int64, in machine.Input, b machine.Budget, take func(*turn, machine.Input)) *turn {
	t := p.begin(tx, at, now, in.Workflow)
	t.in = in
	t.spend.account = p.account
	t.spend.allow(b)
	take(t, in)
	t.carryOn()
	p.account = expr.Account{}
	if t.head != nil && t.head.inHand() > 0 { // the next piece may read the same value
		p.account = t.spend.account
	}
	t.spend, t.contexts.lastMerge = spending{}, merge{}
	return t
}

// take lets an input have its effect.
func (t *turn) take(in machine.Input) {
	switch {
	case in.Command != nil:
		none := t.head == nil
		t.command(in.Command)
		if none && in.Quarantine != nil {
			t.quarantine(in.Quarantine)
		}
	case in.Inbox != nil:
		t.inbox(in.Inbox)
	case in.Timer != nil:
		t.timer(*in.Timer)
	case in.Lost != nil:
		t.ends.lost(in.Lost)
	case in.Quarantine != nil:
		t.quarantine(in.Quarantine)
	}
	// Continue brings nothing: carryOn goes on with what is in hand.
}

// carryOn carries a decision on to its end, if it has come to anything.
func (t *turn) carryOn() {
	goesOn := t.in.Continue && t.head != nil && t.head.inHand() > 0
	if len(t.events) > 0 || len(t.pieces.own) > 0 || goesOn {
		t.proceed()
	}
	if len(t.events) > 0 {
		t.returnPermits()
		t.drain()
		t.retain()
		t.finish()
	}
}

// proceed carries on what a decision began, and what earlier ones have left, until
// nothing more follows from it or the budget is spent.
func (t *turn) proceed() {
	if t.head == nil || t.head.Status.closed() {
		return
	}
	t.goOn()
	t.pieces.leave()
	t.settle()
}

// command: one line per command, one file per command.
func (t *turn) command(c *events.Command) {
	switch b := c.Body.(type) {
	case *events.StartWorkflow:
		t.start(b)
	case *events.FeedInput:
		t.input(b)
	case *events.SignalWorkflow:
		t.signal(b)
	case *events.PauseWorkflow:
		t.pause(b)
	case *events.ResumeWorkflow:
		t.resume(b)
	case *events.StopWorkflow:
		t.stop(b)
	case *events.CancelWorkflow:
		t.cancel(b)
	case *events.RetryRunnables:
		t.retry(b)
	case *events.SkipRunnable:
		t.skip(b)
	case *events.SetPolicies:
		t.setPolicies(b)
	case *events.MigrateWorkflow:
		t.migrate(b)
	case *events.CheckpointWorkflow:
		t.checkpoint(b)
	case *events.DeleteWorkflow:
		t.remove(b)
	case *events.CompleteAttempt:
		t.ends.completeByToken(b)
	case *events.FailAttempt:
		t.ends.failByToken(b)
	case *events.HeartbeatAttempt:
		t.ends.heartbeatByToken(b)
	case *events.KeepKeys:
		t.ends.keep(b)
	default:
		t.refuse("unknown_command", fmt.Sprintf("a workflow does not understand %s", c.Name))
	}
}

func (t *turn) inbox(m events.InboxMessage) {
	switch m := m.(type) {
	case *events.TaskOutcome:
		t.ends.outcome(m)
	case *events.TaskNotified:
		t.ends.notified(m)
	case *events.TaskHeartbeat:
		if len(m.Details) > 0 { // else it is the worker's, not the task's
			t.ends.heartbeat(m.Token, m.Details)
		}
	case *events.TaskWish:
		t.ends.wish(m)
	case *events.EntityMessage:
		t.told(m)
	case *events.RunArchived:
		t.archived(m)
	case *events.RunRestore:
		t.restore(m)
	}
}

// known refuses commands for a workflow that does not exist.
func (t *turn) known() bool {
	if !t.exists() {
		t.refuse("not_found", fmt.Sprintf("there is no workflow %q", t.id))
		return false
	}
	return true
}

// open refuses commands for a workflow that is closed, and, unless stopped is
// allowed, for one that is stopped.
func (t *turn) open(stoppedToo bool) bool {
	if !t.known() {
		return false
	}
	switch t.head.Status {
	case Completed, Cancelling, Cancelled:
		t.refuse("closed", fmt.Sprintf("the workflow is %s", t.head.Status))
		return false
	case Stopping, Stopped:
		if !stoppedToo {
			t.refuse("stopped", "the workflow is stopped; resume it first")
			return false
		}
	default: // open
	}
	return true
}
