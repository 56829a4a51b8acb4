package planner

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
)

// retry makes failed runnables ready again: all, the named, or a component's.
func (t *turn) retry(b *events.RetryRunnables) {
	if !t.open(false) {
		return
	}
	work := &events.RetryWork{Through: events.RunnableID(t.head.NextRun), By: b.By}
	if len(b.Input) > 0 {
		var ok bool
		if work.Input, ok = t.intake.compact("input", b.Input); !ok {
			return
		}
	}
	if !t.means(b, work) {
		t.refuse("nothing_to_retry", t.whyNothing(b))
		return
	}
	t.pieces.add(events.Work{Kind: events.WorkRetry, Retry: work})
}

// whyNothing says in words why a retry has nothing to make ready again.
func (t *turn) whyNothing(b *events.RetryRunnables) string {
	switch {
	case b.Component != "" && t.graph().Lookup(b.Component) == nil:
		return fmt.Sprintf("the workflow has no component %q", b.Component)
	case len(b.Runnables) > 0:
		return "no runnable that was named has failed"
	case b.Component != "":
		return fmt.Sprintf("no runnable of the component %q has failed", b.Component)
	}
	return "no runnable has failed"
}

// means says in work what a retry names, and reports whether that may have failed.
func (t *turn) means(b *events.RetryRunnables, work *events.RetryWork) bool {
	if !t.head.mayRetry(len(b.Runnables) > 0) {
		return false
	}
	if b.Component != "" {
		c := t.graph().Lookup(b.Component)
		if c == nil {
			return false
		}
		work.Component = uint32(c.Index) + 1
	}
	if len(b.Runnables) > 0 {
		return t.named(b.Runnables, work)
	}
	if work.Component == 0 {
		return true
	}
	some, _, more := t.runs.behind(0, meant(work, false), &t.spend)
	return len(some) > 0 || more
}

// mayRetry reports whether there is anything that a retry can mean, which names it or not.
func (h *header) mayRetry(named bool) bool { return h.Failed > 0 || named && h.uncertain() > 0 }

// named notes in work which runnables a retry names that have failed, or may have: there may
// be more than there is budget to look at.
func (t *turn) named(names []string, work *events.RetryWork) bool {
	ids := make([]events.RunnableID, 0, len(names))
	for _, name := range names {
		if id, err := events.ParseRunnableID(name); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	pick := meant(work, true)
	for i, id := range ids {
		if t.spend.full() {
			work.Runnables = append(work.Runnables, ids[i:]...)
			break
		}
		t.spend.steps -= lookSteps
		if r := t.runs.get(id); r != nil && pick(id, r) {
			work.Runnables = append(work.Runnables, id)
		}
	}
	return len(work.Runnables) > 0
}

// meant picks the runnables that a retry means: those that have failed, and uncertain ones that are named.
func meant(w *events.RetryWork, named bool) func(events.RunnableID, *runnable) bool {
	return func(id events.RunnableID, r *runnable) bool {
		again := r.Status == runFailed || named && r.Status == runUncertain
		return again && id <= w.Through && (w.Component == 0 || r.Component+1 == w.Component)
	}
}

// retrySome makes some of the runnables that a retry means ready again. It is over as soon as nothing
// is left that it can mean, whatever there is still to look at: what fails behind that, it must not take up.
func (t *turn) retrySome(w events.Work) {
	pick := meant(w.Retry, len(w.Retry.Runnables) > 0)
	again := func(id events.RunnableID) {
		e := &events.RunnableRetried{Runnable: id, Input: w.Retry.Input, By: w.Retry.By}
		if r := t.runs.get(id); r.Fanned == nil {
			e.EndBy = t.endBy(r.policy())
		}
		t.emit(e)
		t.invoked(id).do(invocation.arrive)
	}
	named, over := w.Retry.Runnables, false
	if len(named) > 0 {
		over = t.eachNamed(w, named, pick, again)
	} else {
		over = t.each(w, pick, again)
	}
	if !over && !t.head.mayRetry(len(named) > 0) {
		t.pieces.pop()
	}
	t.revive()
}

// skip gives up a runnable that has failed or not ended; what depends on it is
// suppressed.
func (t *turn) skip(b *events.SkipRunnable) {
	if !t.open(false) {
		return
	}
	id, err := events.ParseRunnableID(b.Runnable)
	if err != nil {
		t.refuseAt("invalid_field", "runnable", err.Error())
		return
	}
	r := t.runs.get(id)
	if r == nil || !r.Status.open() && r.Status != runFailed {
		t.refuse("nothing_to_skip", fmt.Sprintf("%s is neither open nor failed", id))
		return
	}
	owner, element := t.foldOwner(id), t.foldedBy(r)
	t.emit(&events.RunnableSkipped{Runnable: id, By: b.By})
	t.abandon(element)
	t.markFailed(r.Scope, 0, events.TaskError{Type: events.ErrorSkipped, Message: "it was skipped"})
	t.foldGivenUp(r, owner)
	t.flow.dieFrom(t.component(r.Component), r.Scope, suppressed)
	t.revive()
}

// revive ends the failed state when no halting failure is left.
func (t *turn) revive() {
	if t.head.Status == Failed && t.head.Halted == 0 {
		t.emit(&events.WorkflowRevived{})
	}
}
