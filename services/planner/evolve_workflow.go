package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

func (t *turn) applyStarted(e *events.WorkflowStarted) {
	t.tx.Create(setupKey(t.wf), &setup{
		Digest: e.Digest, Name: e.Name, Version: e.Version, Options: e.Options, Policies: e.Policies,
		Context: e.Context, Labels: e.Labels, Trace: t.in.Trace, Created: t.now,
	})
	t.head = &header{Run: t.at, Status: Running}
	t.owned, t.set, t.g = true, nil, nil
	t.tx.Create(headerKey(t.wf), t.head)
	rows.Change[pins](t.tx, pinsKey(e.Digest)).Runs++
	t.addWaiter()
}

// addWaiter remembers who asked to be told when the workflow has drained. The
// oldest gives way when there are too many; it asks again when its time is over.
func (t *turn) addWaiter() {
	if !t.in.ReplyTo.Wait || t.in.ReplyTo.Address == "" {
		return
	}
	h := t.h()
	w := waiter{t.in.ReplyTo.Address, t.in.ReplyTo.ID}
	for _, known := range h.Waiters {
		if known == w {
			return
		}
	}
	list := append(make([]waiter, 0, len(h.Waiters)+1), h.Waiters...)
	if len(list) >= maxWaiters {
		list = list[1:]
	}
	h.Waiters = append(list, w)
}

func (t *turn) applyInput(e *events.InputAccepted) {
	h := t.h()
	h.NextFact = uint64(e.Fact)
	if h.Status == Idle {
		h.Status = Running
	}
	t.keep(e.Fact, &fact{Scope: e.Fact, Time: t.now, Value: e.Value})
	t.openScope(e)
	t.addWaiter()
}

// applyRefused counts a refusal: a summary has the number and the last, as a history
// lists some only.
func (t *turn) applyRefused(e *events.CommandRefused) {
	if t.head == nil {
		return // of a run that is not there
	}
	r := t.h().troubled()
	r.Refused++
	r.LastRefusal = events.LastRefusal{Time: events.Stamp(t.now), Command: e.Command, Code: e.Code, Message: events.Cut(e.Message, events.MaxSummaryText)}
}

func (t *turn) applyWorkflowFailed(e *events.WorkflowFailed) {
	h := t.h()
	h.Status = Failed
	h.Failure = &failure{Component: e.Component, Runnable: e.Runnable, Error: e.Error}
}

func (t *turn) applyResumed(e *events.WorkflowResumed) {
	t.h().Status = Running
	t.endQuarantine()
	if len(e.Policies) == 0 && len(e.Context) == 0 {
		return
	}
	set := rows.Change[setup](t.tx, setupKey(t.wf))
	if len(e.Policies) > 0 {
		set.Policies = e.Policies
	}
	if len(e.Context) > 0 {
		t.setContext(set, e.Context)
	}
	t.set = set
}

func (t *turn) applyStopping(e *events.WorkflowStopping) {
	h := t.h()
	h.Status, h.DrainUntil, h.Persist = Stopping, e.Until, e.Persist
	t.tx.Put(timerKey(t.wf, e.Until, 0, machine.TimerDrain), &machine.Timer{})
}

func (t *turn) applyStopped() {
	h := t.h()
	h.Status = Stopped
	t.tx.Delete(timerKey(t.wf, h.DrainUntil, 0, machine.TimerDrain))
	h.DrainUntil = 0
}

// applyWorkflowCancelled closes whatever is open. Attempts that takers have
// were closed before, one by one, so that these are told.
func (t *turn) applyWorkflowCancelled() {
	h := t.h()
	if h.DrainUntil != 0 {
		t.tx.Delete(timerKey(t.wf, h.DrainUntil, 0, machine.TimerDrain))
		h.DrainUntil = 0
	}
	var open []events.RunnableID
	rows.Scan(t.tx, rows.Key{Table: rows.Runnable, Workflow: t.wf}, func(k rows.Key, r *runnable) bool {
		if r.Status.open() {
			open = append(open, events.RunnableID(k.A))
		}
		return true
	})
	for _, id := range open {
		t.closeAs(id, runCancelled)
		h.Cancelled++
	}
	h.Status = Cancelled
}

// applyDeleted removes every row of the run.
func (t *turn) applyDeleted() {
	digest := t.setup().Digest
	for _, table := range []rows.Table{
		rows.Header, rows.Page, rows.Fact, rows.Runnable, rows.Join, rows.Arm, rows.Scope, rows.Ready, rows.Latest, rows.Suppressed,
	} {
		t.deleteTable(table)
	}
	t.unpin(digest)
	t.queued, t.openings = t.queued[:0], t.openings[:0]
	t.head, t.owned, t.set, t.g = nil, false, nil, nil
}

func (t *turn) deleteTable(table rows.Table) {
	var keys []rows.Key
	collect := func(k rows.Key) bool { keys = append(keys, k); return true }
	from := rows.Key{Table: table, Workflow: t.wf}
	switch table { // the rows' types differ
	case rows.Header:
		keys = append(keys, headerKey(t.wf), setupKey(t.wf))
	case rows.Page:
		rows.Scan(t.tx, from, func(k rows.Key, _ *factPage) bool { return collect(k) })
	case rows.Fact:
		rows.Scan(t.tx, from, func(k rows.Key, _ *fact) bool { return collect(k) })
	case rows.Runnable:
		rows.Scan(t.tx, from, func(k rows.Key, _ *runnable) bool { return collect(k) })
	case rows.Join:
		rows.Scan(t.tx, from, func(k rows.Key, _ *join) bool { return collect(k) })
	case rows.Arm:
		rows.Scan(t.tx, from, func(k rows.Key, _ *arm) bool { return collect(k) })
	case rows.Scope:
		rows.Scan(t.tx, from, func(k rows.Key, _ *scope) bool { return collect(k) })
	case rows.Ready:
		rows.Scan(t.tx, from, func(k rows.Key, _ *present) bool { return collect(k) })
	case rows.Latest:
		rows.Scan(t.tx, from, func(k rows.Key, _ *latestRow) bool { return collect(k) })
	case rows.Suppressed:
		rows.Scan(t.tx, from, func(k rows.Key, _ *suppression) bool { return collect(k) })
	default:
		panic(fmt.Sprintf("table %d is no table of a workflow's own rows", table))
	}
	for _, k := range keys {
		t.tx.Delete(k)
	}
}

// unpin lets go of a definition; the last run of the partition that does takes
// it along.
func (t *turn) unpin(digest string) {
	if row := rows.Change[pins](t.tx, pinsKey(digest)); row.Runs > 1 {
		row.Runs--
		return
	}
	t.tx.Delete(pinsKey(digest))
	t.tx.Delete(definitionKey(digest))
}
