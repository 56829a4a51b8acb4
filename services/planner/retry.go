package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// retry makes failed runnables ready again: all, the named, or a component's.
func (t *turn) retry(b *events.RetryRunnables) {
	if !t.open(false) {
		return
	}
	var edited []byte
	if len(b.Input) > 0 {
		var ok bool
		if edited, ok = t.intake.compact("input", b.Input); !ok {
			return
		}
	}
	failed := t.runs.toRetry(b)
	if len(failed) == 0 {
		t.refuse("nothing_to_retry", "no runnable that was named has failed")
		return
	}
	for _, id := range failed {
		t.emit(&events.RunnableRetried{Runnable: id, Input: edited, By: b.By})
		i := t.invoked(id)
		i.kind().arrive(i)
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
	t.emit(&events.RunnableSkipped{Runnable: id, By: b.By})
	t.flow.dieFrom(r.Component, r.Scope, suppressed)
	t.revive()
}

// revive ends the failed state when no halting failure is left.
func (t *turn) revive() {
	if t.head.Status == Failed && t.head.Halted == 0 {
		t.emit(&events.WorkflowRevived{})
	}
}
