package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Apply implements machine.Machine: it replays a record.
func (p *Planner) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	if rec.Workflow == "" || len(rec.Events) == 0 {
		return machine.Outcome{}
	}
	t := p.begin(tx, rec.Position, rec.Time, rec.Workflow)
	t.in.Source, t.in.ReplyTo, t.in.Trace = rec.Input.Source, rec.ReplyTo, rec.Trace
	if t.head == nil || t.head.Applied.Before(rec.Position) {
		t.replay(rec)
	}
	if guarded {
		return machine.Outcome{}
	}
	return t.conclusion(rec.Events)
}

// replay applies the events of a record. Those of a workflow whose run was deleted
// since are passed over.
func (t *turn) replay(rec *events.Record) {
	for _, e := range rec.Events {
		if t.head == nil && !withoutRun(e) {
			continue
		}
		t.apply(e)
	}
	t.finish()
}

// withoutRun says whether an event changes state where no run exists.
func withoutRun(e events.Event) bool {
	switch e.(type) {
	case *events.WorkflowStarted, *events.DefinitionPinned:
		return true
	}
	return false
}

// apply changes the state by one event: one line per event. It never fails on
// an event that a decision produced.
func (t *turn) apply(e events.Event) {
	switch e := e.(type) {
	case *events.DefinitionPinned:
		t.tx.Put(definitionKey(e.Digest), &definitionRow{Canonical: e.Canonical})
	case *events.WorkflowStarted:
		t.applyStarted(e)
	case *events.InputAccepted:
		t.applyInput(e)
	case *events.InputSettled:
		t.endScope(e.Scope)
	case *events.FactProduced:
		t.applyFact(e)
	case *events.RunnableReady:
		t.applyReady(e)
	case *events.RunnableDispatched:
		t.applyDispatched(e)
	case *events.RunnableNotified:
		t.applyNotified(e)
	case *events.RunnableHeartbeat:
		rows.Change[runnable](t.tx, runnableKey(t.wf, e.Runnable)).Heartbeat = e.Details
	case *events.RunnableCompleted:
		t.applyCompleted(e)
	case *events.RunnableFailed:
		t.applyFailed(e.Runnable, e.Error, e.Action, failedAttempt)
	case *events.RunnableTimedOut:
		t.applyFailed(e.Runnable, e.Error, e.Action, timedOutAttempt)
	case *events.RunnableLost:
		t.applyFailed(e.Runnable, e.Error, e.Action, lostAttempt)
	case *events.RunnableReturned:
		t.applyReturned(e)
	case *events.RetryScheduled:
		t.wait(e.Runnable, e.Due)
	case *events.TimerArmed:
		t.wait(e.Runnable, e.Due)
	case *events.TimerFired:
		t.applyFired(e)
	case *events.RunnableRetried:
		t.applyRetried(e)
	case *events.RunnableSkipped:
		t.applySkipped(e)
	case *events.RunnableCancelled:
		t.applyCancelled(e)
	case *events.RunnableSuppressed:
		t.applySuppressed(e)
	case *events.BranchNotTaken:
		t.closeJoin(e.Component, e.Scope)
	case *events.JoinArmArrived:
		t.applyArmArrived(e)
	case *events.JoinArmDied:
		t.applyArmDied(e)
	case *events.WorkflowIdle:
		t.h().Status = Idle
	case *events.WorkflowCompleted:
		t.h().Status = Completed
	case *events.WorkflowFailed:
		t.applyWorkflowFailed(e)
	case *events.WorkflowRevived:
		t.h().Status = Running
		t.h().Failure = nil
	case *events.WorkflowPaused:
		t.applyPaused(e)
	case *events.WorkflowResumed:
		t.applyResumed(e)
	case *events.WorkflowStopping:
		t.applyStopping(e)
	case *events.WorkflowStopped:
		t.applyStopped()
	case *events.WorkflowCancelled:
		t.applyWorkflowCancelled()
	case *events.WorkflowDeleted:
		t.applyDeleted()
	case *events.CommandRefused:
		t.applyRefused(e)
	case *events.CheckpointRequested, *events.CommandIgnored:
		// of the history only
	default:
		panic("event without a meaning for workflows: " + events.Name(e))
	}
}
