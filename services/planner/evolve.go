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
	return t.effects.conclusion(rec.Events)
}

// replay applies the events of a record. Those of a workflow whose run was deleted
// since are passed over.
func (w *workflow) replay(rec *events.Record) {
	for _, e := range rec.Events {
		if w.head == nil && !withoutRun(e) || w.unpinned() && !endsRun(e) {
			continue
		}
		w.apply(e)
	}
	w.finish()
}

// unpinned reports whether the run's definition is not pinned any more: the partition's rows
// are newer than the workflow's, as those of a checkpoint that was not finished are, and
// the run's deletion lies ahead. Nothing else that lies there matters.
func (w *workflow) unpinned() bool {
	return w.head != nil && w.g == nil && !w.p.pinned(w.tx, w.setup().Digest)
}

// endsRun reports whether an event ends a run, in whatever state it is.
func endsRun(e events.Event) bool {
	_, ends := e.(*events.WorkflowDeleted)
	return ends
}

// withoutRun reports whether an event changes state where no run exists.
func withoutRun(e events.Event) bool {
	switch e.(type) {
	case *events.WorkflowStarted, *events.DefinitionPinned, *events.WorkflowRestored:
		return true
	}
	return false
}

// apply changes the state by one event. It never fails on an event that a decision produced.
func (w *workflow) apply(e events.Event) {
	ended := len(w.endings)
	w.evolve(e)
	if len(w.endings) > ended {
		w.conclude(ended, e)
	}
}

// evolve is apply: one line per event.
func (w *workflow) evolve(e events.Event) {
	switch e := e.(type) {
	case *events.DefinitionPinned:
		w.tx.Put(definitionKey(e.Digest), &definitionRow{Canonical: e.Canonical})
	case *events.WorkflowStarted:
		w.started(e)
	case *events.InputAccepted:
		w.fed(e)
	case *events.InputSettled:
		w.scopes.end(e.Scope)
	case *events.FannedOut:
		w.runs.fannedOut(e)
	case *events.ScopeOpened:
		w.scopes.nest(e)
	case *events.ScopeClosed:
		w.scopes.unnest(e)
	case *events.ListTaken:
		w.runs.took(e)
	case *events.ElementFailed:
		w.scopes.elementFailed(e)
	case *events.ResultKept:
		w.folds.keep(e)
	case *events.Folded:
		w.folds.folded(e)
	case *events.FactProduced:
		w.facts.produced(e)
	case *events.StateChanged:
		w.facts.folded(e)
	case *events.FactsDropped:
		w.facts.dropped(e)
	case *events.RunnableReady:
		w.runs.ready(e)
	case *events.RunnableDispatched:
		w.runs.dispatched(e)
	case *events.RunnableNotified:
		w.runs.notified(e)
	case *events.RunnableHeartbeat:
		w.runs.beat(e)
	case *events.AlarmSet:
		w.runs.alarmSet(e)
	case *events.RunnableParked:
		w.runs.parked(e)
	case *events.KeysKept:
		w.runs.kept(e)
	case *events.LeaderNotificationDeferred: // the heartbeat before it says so
	case *events.RunnableCompleted:
		w.runs.completed(e)
	case *events.RunnableFailed:
		w.runs.failed(e.Runnable, e.Error, e.Action, failedAttempt)
	case *events.RunnableTimedOut:
		w.runs.failed(e.Runnable, e.Error, e.Action, timedOutAttempt)
	case *events.RunnableLost:
		w.runs.failed(e.Runnable, e.Error, e.Action, lostAttempt)
	case *events.FailureCaught:
		w.facts.caught(e)
	case *events.RunnableReturned:
		w.runs.returned(e)
	case *events.RetryScheduled:
		w.runs.wait(e.Runnable, e.Due)
	case *events.TimerArmed:
		w.runs.wait(e.Runnable, e.Due)
	case *events.FallbackApplied:
		w.runs.fellBack(e)
	case *events.ProbeAnswered:
		w.runs.answered(e)
	case *events.OutcomeArrived:
		w.runs.arrived(e)
	case *events.TimerFired:
		w.runs.fired(e)
	case *events.SilenceAwaited:
		w.runs.await(e.Runnable, &wait{Silence: e.For}, e.Due)
	case *events.TimerMoved:
		w.runs.moved(e)
	case *events.SignalReceived:
		w.signals.receive(e)
	case *events.SignalAwaited:
		w.runs.await(e.Runnable, &wait{Key: e.Key, Until: e.Until}, e.Due)
	case *events.SignalTaken:
		w.signals.taken(e)
	case *events.SignalExpired:
		w.signals.drop(e.Signal)
	case *events.RunnableRetried:
		w.runs.retried(e)
	case *events.RunnableSkipped:
		w.runs.skipped(e)
	case *events.RunnableCancelled:
		w.runs.cancelled(e)
	case *events.RunnableSuppressed:
		w.runs.suppressed(e)
	case *events.BranchNotTaken:
		w.joins.closeAt(e.Component, e.Scope)
		w.folds.over(uint64(e.Scope), e.Component)
	case *events.JoinArmArrived:
		w.joins.arrived(e)
	case *events.JoinArmDied:
		w.joins.died(e)
	case *events.WorkflowIdle:
		w.turnTo(Idle)
	case *events.WorkflowCompleted:
		w.turnTo(Completed)
	case *events.WorkflowFailed:
		w.failed(e)
	case *events.WorkflowRevived:
		w.turnTo(Running)
		w.h().Failure = nil
	case *events.WorkflowPaused:
		w.paused(e)
	case *events.WorkflowResumed:
		w.resumed(e)
	case *events.WorkflowStopping:
		w.stopping(e)
	case *events.WorkflowStopped:
		w.turnTo(Stopped)
	case *events.WorkflowCancelling:
		w.turnTo(Cancelling)
	case *events.WorkflowCancelled:
		w.cancelled()
	case *events.WorkInHand:
		w.hand.left(e)
	case *events.WorkflowDeleting:
		w.turnTo(Deleting)
		w.h().Waiters = nil
	case *events.RowsRemoved:
		w.removed(e)
	case *events.WorkflowDeleted:
		w.deleted()
	case *events.PoliciesSet:
		w.policiesSet(e)
	case *events.WorkflowMigrated:
		w.migrated(e)
	case *events.RetentionArmed:
		w.retentionArmed(e)
	case *events.WorkflowRestored:
		w.restored(e)
	case *events.ArchiveAwaited:
		w.archiveAwaited()
	case *events.WorkflowArchived:
		w.kept()
	case *events.CommandRefused:
		w.refused(e)
	case *events.PermitAsked:
		w.runs.asked(e)
	case *events.AttemptDenied:
		w.runs.denied(e)
	case *events.PermitsReturned:
		w.runs.lineUpAgain(e.Again)
	case *events.WorkflowDrained:
		w.drained(e)
	case *events.NoticeReported:
		w.reported(&e.Report)
	case *events.CheckpointRequested, *events.CommandIgnored, *events.AttemptAsked, *events.AttemptDisowned:
		// of the history only
	default:
		panic("event without a meaning for workflows: " + events.Name(e))
	}
}
