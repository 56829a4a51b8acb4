package planner

import (
	"math"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

func (w *workflow) started(e *events.WorkflowStarted) {
	w.tx.Create(setupKey(w.id), &setup{
		Digest: e.Digest, Name: e.Name, Version: e.Version, Options: e.Options, Policies: e.Policies,
		Context: e.Context, Own: ownContexts(e.Own), Labels: e.Labels, Trace: w.in.Trace, Created: w.now,
	})
	w.head = &header{Run: w.at, Status: Running}
	w.owned, w.set, w.g = true, nil, nil
	w.tx.Create(headerKey(w.id), w.head)
	rows.Change[pins](w.tx, pinsKey(e.Digest)).Runs++
	w.addWaiter()
}

// addWaiter remembers a client that asked to be told when the workflow has drained. The
// oldest gives way when there are too many; it asks again when its time is over.
func (w *workflow) addWaiter() {
	if !w.in.ReplyTo.Wait || w.in.ReplyTo.Address == "" {
		return
	}
	h := w.h()
	asks := waiter{w.in.ReplyTo.Address, w.in.ReplyTo.ID}
	for _, known := range h.Waiters {
		if known == asks {
			return
		}
	}
	list := append(make([]waiter, 0, len(h.Waiters)+1), h.Waiters...)
	if len(list) >= maxWaiters {
		list = list[1:]
	}
	h.Waiters = append(list, asks)
}

func (w *workflow) fed(e *events.InputAccepted) {
	h := w.h()
	h.NextFact = uint64(e.Fact)
	if h.Status == Idle {
		w.turnTo(Running)
	}
	w.facts.keep(e.Fact, &fact{Scope: e.Fact, Time: w.now, Value: e.Value})
	w.scopes.begin(e)
	w.addWaiter()
}

// refused counts a refusal: a summary has the number and the last, as a history
// lists some only.
func (w *workflow) refused(e *events.CommandRefused) {
	if w.head == nil {
		return // of a run that is not there
	}
	r := w.h().troubled()
	r.Refused++
	r.LastRefusal = events.LastRefusal{Time: events.Stamp(w.now).String(), Command: e.Command, Code: e.Code, Message: events.Cut(e.Message, events.MaxSummaryText)}
}

func (w *workflow) failed(e *events.WorkflowFailed) {
	w.turnTo(Failed)
	w.h().Failure = &failure{Component: e.Component, Runnable: e.Runnable, Error: e.Error}
}

func (w *workflow) resumed(e *events.WorkflowResumed) {
	w.turnTo(Running)
	w.endQuarantine()
	if len(e.Policies) == 0 && len(e.Context) == 0 {
		return
	}
	set := w.changeSetup()
	if len(e.Policies) > 0 {
		set.Policies = e.Policies
	}
	if len(e.Context) > 0 {
		w.contexts.set(set, e.Context)
	}
}

func (w *workflow) stopping(e *events.WorkflowStopping) {
	w.turnTo(Stopping)
	w.h().Persist = e.Persist
	w.endAt(e.Until)
}

// turnTo changes the status. What would have ended the one before by itself does not any more.
func (w *workflow) turnTo(s Status) {
	w.disarm()
	w.h().Status = s
}

// endAt arms the timer that ends the status by itself.
func (w *workflow) endAt(until int64) {
	w.disarm()
	w.h().Until = until
	w.tx.Put(w.endKey(), &machine.Timer{})
}

// disarm takes that timer away, if there is one.
func (w *workflow) disarm() {
	if w.head.Until != 0 {
		w.tx.Delete(w.endKey())
		w.h().Until = 0
	}
	if w.head.Rest != nil {
		w.h().Rest = nil
	}
}

// endKey is the timer that ends the status by itself.
func (w *workflow) endKey() rows.Key {
	kind := uint64(machine.TimerRetain)
	if w.head.Status == Stopping {
		kind = machine.TimerDrain
	}
	return timerKey(w.id, w.head.Until, 0, kind)
}

// cancelled closes whatever is open, and drops what is in hand. Attempts that workers
// have were closed before, one by one, so that these are told.
func (w *workflow) cancelled() {
	w.turnTo(Cancelled)
	h := w.h()
	w.hand.drop(h.inHand())
	if h.open() > 0 {
		w.closeOpen()
	}
}

func (w *workflow) closeOpen() {
	var open []events.RunnableID
	rows.Scan(w.tx, rows.Key{Table: rows.Runnable, Workflow: w.id}, func(k rows.Key, r *runnable) bool {
		if r.Status.open() {
			open = append(open, events.RunnableID(k.A))
		}
		return true
	})
	for _, id := range open {
		w.runs.closeWithAll(id)
	}
}

// deleted removes every row of the run. Where another one begins in its place, what is
// still open is closed before, and its timers go with it.
func (w *workflow) deleted() {
	digests := w.setup().digests()
	if h := w.head; h.open() > 0 {
		w.closeOpen()
	}
	w.disarm()
	w.tx.Delete(headerKey(w.id))
	w.tx.Delete(setupKey(w.id))
	for _, table := range ownTables {
		keys, _ := w.firstRows(table, math.MaxInt, math.MaxInt)
		w.deleteRows(keys)
	}
	for _, digest := range digests {
		w.unpin(digest)
	}
	w.queue.queued, w.scopes.openings = w.queue.queued[:0], w.scopes.openings[:0]
	w.head, w.owned, w.set, w.g = nil, false, nil, nil
}

// removed removes the first rows of a table.
func (w *workflow) removed(e *events.RowsRemoved) {
	keys, _ := w.firstRows(rows.Table(e.Table), int(e.Rows), math.MaxInt)
	w.deleteRows(keys)
}

func (w *workflow) deleteRows(keys []rows.Key) {
	for _, k := range keys {
		if k.Table == rows.Signal { // its timer goes on in a closed run
			w.tx.Delete(expiryKey(w.id, k.A, rows.Get[keptSignal](w.tx, k)))
		}
		w.tx.Delete(k)
	}
}

// unpin lets go of a definition; the last run of the partition that does takes
// it along.
func (w *workflow) unpin(digest string) {
	if row := rows.Change[pins](w.tx, pinsKey(digest)); row.Runs > 1 {
		row.Runs--
		return
	}
	w.tx.Delete(pinsKey(digest))
	w.tx.Delete(definitionKey(digest))
}
