package workload

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// journalChecker follows the journal of one partition and holds every record against
// what a runnable and a workflow may do (properties 5 and 6).
type journalChecker struct {
	Plan   *Plan
	memory *TaskMemory
	steady bool // workers and clocks: nothing is lost, nothing runs out of time that does not hang
	told   Reports
	runs   map[string]*run
	time   int64
	Errs   []error
}

// run is a workflow as its records tell it.
type run struct {
	ID        events.RunID
	wf        *Workflow
	rules     Rules // given with the run, or with the last resume
	given     map[events.ScopeID]given
	runnables map[events.RunnableID]*attempts
	active    int
	Inputs    map[events.FactID]bool // settled?
	cancelled bool
	signals   map[uint64]string // that nobody has taken yet, by number: name and key
	lists     map[events.RunnableID]*elementsOf
	owners    map[events.ScopeID]events.RunnableID // of the scopes of elements that are open
	folds     map[foldAt]uint64                    // elements that are folded
	book      stateBook
	forgetting
}

// attempts is a runnable as its records tell it.
type attempts struct {
	Component *Component
	scope     events.ScopeID
	parents   []events.FactID
	policy    policy.Policy
	last      uint32 // attempt
	open      bool
	since     int64  // record time (Unix ms) of the last attempt's notification
	beat      int64  // record time (Unix ms) of its last sign of life; 0: nobody has begun it
	beatIn    uint64 // epoch of that record
	begun     bool   // a worker has said that it has begun the last attempt
	denied    bool   // the last attempt has not begun, and its failure follows
	endBy     int64  // Unix ms until which it must have ended; 0: there is no limit
	waits     int64  // record time (Unix ms) since when no worker has begun it; 0: one may not have to
	ended     string
	most      int   // attempts that it may have by now
	failures  int   // since it was retried by command
	losses    int   // likewise
	late      int   // attempts that ran out of time
	least     int64 // wait (ms) for the next attempt
	longest   int64
	reminders uint64 // of the signal that it waits for
	awaits    int64  // record time (Unix ms) since when it does
	key       string // idempotency key that its policy gave; empty: none
	rescue
}

// Reports are when (Unix ms) the outcome of an attempt was to be read in the inbox,
// by the clock of any owner.
type Reports map[attemptID]int64

// Note notes an outcome of a token. What carries none of ours is of no attempt.
func (r Reports) Note(token []byte, at int64) {
	t, err := events.PeekToken(token)
	if err != nil {
		return
	}
	id := attemptID{t.Workflow, t.Run, t.Runnable, t.Attempt}
	if first, ok := r[id]; !ok || at < first {
		r[id] = at
	}
}

// CheckJournal holds the records of a partition against the plan. steady: no
// worker was ever disturbed, and no clock ran ahead of the workers' work. told are
// the outcomes that no timeout may overtake, as far as they are known.
func CheckJournal(p *Plan, l *TaskMemory, steady bool, told Reports, records []*events.Record) error {
	c := &journalChecker{Plan: p, memory: l, steady: steady, told: told, runs: map[string]*run{}}
	for _, rec := range records {
		if rec.Time < c.time {
			c.fail(rec, "its time is %d, before %d (J2)", rec.Time, c.time)
		}
		c.time = rec.Time
		if strings.HasPrefix(rec.Workflow, events.NoticePrefix) || strings.HasPrefix(rec.Workflow, events.KeyPrefix) {
			continue // no workflow: Deliveries and CheckKeys follow it
		}
		for _, e := range rec.Events {
			c.contained(rec, e)
		}
		c.reacted(rec)
	}
	for _, id := range slices.Sorted(maps.Keys(c.runs)) {
		c.runs[id].end(id, c)
	}
	return errors.Join(c.Errs...)
}

// contained follows an event; one that makes no sense at all is a failure too.
func (c *journalChecker) contained(rec *events.Record, e events.Event) {
	defer func() {
		if v := recover(); v != nil {
			c.fail(rec, "%s cannot follow what was before: %v", events.Name(e), v)
		}
	}()
	c.event(rec, e)
	if r := c.runs[rec.Workflow]; r != nil {
		c.follow(rec, r, e)
		c.forget(rec, r, e)
	}
}

func (c *journalChecker) fail(rec *events.Record, format string, args ...any) {
	c.Errs = append(c.Errs, &Complaint{rec.Workflow, format, fmt.Errorf("record %s of %q: %w", rec.Position, rec.Workflow, fmt.Errorf(format, args...))})
}

// end holds that nothing is left over.
func (r *run) end(id string, c *journalChecker) {
	if r.cancelled {
		c.Errs = append(c.Errs, complain(id, "%s is cancelled and not deleted", id))
	}
	for n, a := range r.runnables {
		if a.open || a.ended == "" {
			c.Errs = append(c.Errs, complain(id, "%s of %s: open %v, ended %q", n, id, a.open, a.ended))
		}
	}
	if r.old() {
		c.Errs = append(c.Errs, complain(id, "input %s of %s is not forgotten", r.settled[0].input, id))
	}
	for f, settled := range r.Inputs {
		if !settled {
			c.Errs = append(c.Errs, complain(id, "input %s of %s is not settled", f, id))
		}
	}
}

func (c *journalChecker) event(rec *events.Record, e events.Event) {
	r := c.runs[rec.Workflow]
	switch e := e.(type) {
	case *events.WorkflowStarted:
		if r != nil {
			c.fail(rec, "it starts again")
		}
		r = &run{
			ID: rec.Position, wf: c.Plan.Workflow(rec.Workflow), given: map[events.ScopeID]given{},
			runnables: map[events.RunnableID]*attempts{}, Inputs: map[events.FactID]bool{}, signals: map[uint64]string{}, book: newStateBook(),
			lists: map[events.RunnableID]*elementsOf{}, owners: map[events.ScopeID]events.RunnableID{}, folds: map[foldAt]uint64{},
		}
		r.keep, _ = r.wf.Graph.keep()
		r.rules = c.rulesOf(rec, r, e.Policies)
		c.runs[rec.Workflow] = r
	case *events.WorkflowDeleted:
		delete(c.runs, rec.Workflow)
	case *events.WorkflowCancelling, *events.WorkflowCancelled, *events.WorkflowDeleting:
		r.cancelled = true
	case *events.WorkflowResumed:
		if len(e.Policies) > 0 {
			r.rules = c.rulesOf(rec, r, e.Policies)
		}
	case *events.InputAccepted:
		r.Inputs[e.Fact] = false
		r.given[e.Fact] = given{c.rulesOf(rec, r, e.Policies), e.Replace}
	case *events.InputSettled:
		if r.Inputs[e.Scope] {
			c.fail(rec, "input %s settles again", e.Scope)
		}
		r.Inputs[e.Scope] = true
	case *events.RunnableReady:
		if r.runnables[e.Runnable] != nil {
			c.fail(rec, "%s is made again", e.Runnable)
		}
		of := r.wf.Graph.Components[e.Component]
		pol := c.governed(rec, r, of, e)
		r.runnables[e.Runnable] = &attempts{Component: of, scope: e.Scope, parents: e.Parents, policy: pol, most: 1 + pol.MaxRetries}
		c.dated(rec, r.runnables[e.Runnable], e.EndBy)
	case *events.ListTaken, *events.ScopeOpened, *events.ScopeClosed, *events.Folded:
		c.maps(rec, r, e)
	default:
		c.runnable(rec, r, e)
	}
}

// cancels reports whether a record cancels its workflow.
func cancels(rec *events.Record) bool {
	return slices.ContainsFunc(rec.Events, func(e events.Event) bool { _, ok := e.(*events.WorkflowCancelled); return ok })
}

func (c *journalChecker) runnable(rec *events.Record, r *run, e events.Event) {
	switch e := e.(type) {
	case *events.RunnableDispatched:
		c.dispatched(rec, r, e)
	case *events.AttemptDenied:
		c.denied(rec, r, e)
	case *events.RunnableNotified:
		r.runnables[e.Runnable].since, r.runnables[e.Runnable].begun = rec.Time, true
		c.beaten(rec, r.runnables[e.Runnable])
	case *events.RunnableHeartbeat:
		c.beaten(rec, r.runnables[e.Runnable])
	case *events.RunnableCompleted:
		if a := r.runnables[e.Runnable]; a.Component.kind == mapping {
			c.mapped(rec, r, a, e)
			return
		}
		c.completed(rec, r, e)
	case *events.RunnableFailed:
		c.failed(rec, r, e.Runnable, e.Action, e.Error, e.Executor)
	case *events.RunnableTimedOut:
		c.timedOut(rec, r, e)
	case *events.RetryScheduled:
		if a, wait := r.runnables[e.Runnable], e.Due-rec.Time; wait < a.least || wait > a.longest {
			c.fail(rec, "%s waits %d ms after %d failures, and its policy says %d to %d", e.Runnable, wait, a.failures, a.least, a.longest)
		}
	case *events.RunnableLost:
		c.lost(rec, r, e)
	case *events.RunnableReturned:
		a := r.runnables[e.Runnable]
		a.most++
		a.longest = math.MaxInt64 // another wait, not its policy's
		c.close(rec, r, e.Runnable, "")
	case *events.RunnableCancelled:
		c.cancelled(rec, r, e)
	case *events.FallbackApplied, *events.ProbeAnswered, *events.OutcomeArrived:
		c.saved(rec, r, e)
	case *events.RunnableRetried:
		c.retried(rec, r.runnables[e.Runnable], e)
	case *events.TimerFired:
		if e.Fact != 0 {
			c.waited(rec, r, e.Runnable)
		}
	case *events.SignalReceived:
		c.received(rec, r, e)
	case *events.SignalTaken:
		c.taken(rec, r, e)
	case *events.SignalAwaited:
		a := r.runnables[e.Runnable]
		a.since, a.awaits = rec.Time, rec.Time
	case *events.TimerMoved:
		c.reminded(rec, r, e)
	}
}

func (c *journalChecker) cancelled(rec *events.Record, r *run, e *events.RunnableCancelled) {
	a := r.runnables[e.Runnable]
	if !e.Rearm && !r.cancelled && !cancels(rec) && !a.Component.limit {
		c.fail(rec, "%s is cancelled for good", e.Runnable)
	}
	if e.Idle {
		if a.open && !a.Component.Acts.External && rec.Input.Source != events.FromInbox { // its worker has told its end
			c.fail(rec, "%s has an attempt open, and its worker is not told", e.Runnable)
		}
		a.open, a.ended = false, "cancelled"
		return
	}
	a.most++
	a.waits = 0
	c.close(rec, r, e.Runnable, "")
}

// timer holds that the timer of an attempt does not fire too early, nor before an
// outcome that was there when it was due (J5).
func (c *journalChecker) timer(rec *events.Record, r *run, id events.RunnableID) {
	a := r.runnables[id]
	most := a.policy.Timeout.Milliseconds()
	due := a.since + most
	if !a.Component.Acts.External {
		due += planner.BackstopMargin
	}
	if rec.Time < due {
		c.fail(rec, "the timer of %s fires after %d ms, and it has %d", id, rec.Time-a.since, most)
	}
	if told, ok := c.told[attemptID{rec.Workflow, r.ID, id, a.last}]; ok && told < due {
		c.fail(rec, "attempt %d of %s runs out of time at %d, and its outcome was there at %d (J5)", a.last, id, due, told)
	}
}

func (c *journalChecker) dispatched(rec *events.Record, r *run, e *events.RunnableDispatched) {
	a := r.runnables[e.Runnable]
	if a.open || a.ended != "" || e.Attempt != a.last+1 {
		c.fail(rec, "attempt %d of %s follows %d: open %v, ended %q", e.Attempt, e.Runnable, a.last, a.open, a.ended)
	}
	if int(e.Attempt) > a.most {
		c.fail(rec, "attempt %d of %s: it may have %d", e.Attempt, e.Runnable, a.most)
	}
	if want := a.queue(); e.Queue != want {
		c.fail(rec, "attempt %d of %s goes to the queue %q, want %q", e.Attempt, e.Runnable, e.Queue, want)
	}
	if !a.asks {
		a.doubt = 0
	}
	a.last, a.open, a.begun, a.beat = e.Attempt, true, false, 0
	c.bounded(rec, a, e)
	c.keyed(rec, r, a, e)
	if !a.Component.Acts.External {
		r.active++
	}
	if most, ok := r.wf.Run["max_concurrency"].(int); ok && r.active > most {
		c.fail(rec, "%d attempts are active, max_concurrency is %d", r.active, most)
	}
}

func (c *journalChecker) failed(rec *events.Record, r *run, id events.RunnableID, action events.Action, err events.TaskError, executor string) {
	a := r.runnables[id]
	switch {
	case err.Type == events.ErrorExpression:
		a.ended = "skipped"
		return
	case a.Component.kind == sleep:
		c.impatient(rec, id, a, err)
		return
	}
	a.waits = 0
	if c.ranFirst(rec, id, a, err) {
		c.Executed(rec, r, id, executor)
	}
	if c.unsaved(rec, r, id, action) {
		return
	}
	if a.failures++; a.failures > 1+a.policy.MaxRetries {
		c.fail(rec, "%s fails %d times", id, a.failures)
	}
	if action == events.ActionRetry && a.never(err.Type) {
		c.fail(rec, "%s is tried again behind %s, its %d. failure", id, err.Type, a.failures)
	}
	a.least, a.longest = pause(a.policy, a.failures, err.RetryAfterMs)
	final := a.failures > a.policy.MaxRetries || a.never(err.Type) || err.NonRetryable
	c.close(rec, r, id, c.gives(rec, id, a, action, final))
}

// completed follows the result of an attempt, of the one that was in doubt, or of a fallback that takes none.
func (c *journalChecker) completed(rec *events.Record, r *run, e *events.RunnableCompleted) {
	a := r.runnables[e.Runnable]
	if a.fell != 0 && !a.fell.Attempts() {
		if a.open || a.ended != "" || e.Executor != "" {
			c.fail(rec, "%s falls back to a value: open %v, ended %q, by %q", e.Runnable, a.open, a.ended, e.Executor)
		}
		a.ended = "completed"
		return
	}
	if a.asks {
		c.fail(rec, "%s completes by its probe, which has not answered", e.Runnable)
	}
	if !a.settles {
		c.Executed(rec, r, e.Runnable, e.Executor)
	}
	c.close(rec, r, e.Runnable, "completed")
}

// close ends the open attempt, and with ended the runnable.
func (c *journalChecker) close(rec *events.Record, r *run, id events.RunnableID, ended string) {
	a := r.runnables[id]
	c.heard(rec, a)
	if known := a.settles || a.undone; a.open == known || a.ended != "" {
		c.fail(rec, "%s ends %q without an open attempt (open %v, known %v, ended %q)", id, ended, a.open, known, a.ended)
	}
	if a.open && !a.Component.Acts.External {
		r.active--
	}
	a.open, a.settles, a.undone, a.ended = false, false, false, ended
}

// Executed holds that the very attempt that an outcome closes has run, where the
// outcome says.
func (c *journalChecker) Executed(rec *events.Record, r *run, id events.RunnableID, executor string) {
	if a := r.runnables[id]; !a.Component.Acts.External {
		c.ran(rec, r, id, a.last, executor)
	}
}

func (c *journalChecker) ran(rec *events.Record, r *run, id events.RunnableID, attempt uint32, executor string) {
	if !c.memory.Executed(attemptID{rec.Workflow, r.ID, id, attempt}, executor) {
		c.fail(rec, "attempt %d of %s has an outcome of %q and did not run there", attempt, id, executor)
	}
}
