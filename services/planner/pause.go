package planner

import (
	"github.com/heddle-run/heddle/shared/events"
)

// pause stops admission; what is active finishes and counts.
func (t *turn) pause(b *events.PauseWorkflow) {
	if !t.open(false) {
		return
	}
	switch t.head.Status {
	case Paused:
		t.ignore()
	case Failed:
		t.refuse("invalid_state", "the workflow has failed; retry or skip what failed, or stop or cancel it")
	default:
		t.emit(&events.WorkflowPaused{By: b.By})
	}
}

// resume admits again after pause or stop. Failures that halted the workflow
// halt it still.
func (t *turn) resume(b *events.ResumeWorkflow) {
	if !t.open(true) {
		return
	}
	switch t.head.Status {
	case Running, Idle:
		t.ignore()
		return
	case Failed:
		t.refuse("invalid_state", "the workflow has failed; retry or skip what failed")
		return
	case Stopping:
		t.refuse("stopped", "the workflow is still draining; resume it when it has stopped")
		return
	default: // paused or stopped
	}
	e := &events.WorkflowResumed{By: b.By}
	var ok bool
	if e.Policies, ok = t.intake.policies(t.graph(), b.Policies); !ok {
		return
	}
	if e.Context, ok = t.intake.context(b.Context); !ok {
		return
	}
	if !t.intake.fits("context", given{policies: e.Policies, context: e.Context}) {
		return
	}
	t.emit(e)
	if f := t.head.Failure; t.head.Halted > 0 && f != nil {
		t.emit(&events.WorkflowFailed{Component: f.Component, Runnable: f.Runnable, Error: f.Error})
	}
}
