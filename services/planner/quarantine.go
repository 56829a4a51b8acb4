package planner

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// errorQuarantined is the type of what a quarantined workflow shows as its failure.
const errorQuarantined = "quarantined"

// quarantine holds a workflow that a loss may concern, once for each loss. What is
// active finishes and counts; a resume ends it.
func (t *turn) quarantine(q *machine.Quarantine) {
	switch {
	case t.head == nil || t.head.Status.closed() || t.head.Status.winding():
	case q.Active && t.head.Active == 0:
	case t.head.Trouble != nil && t.head.Trouble.Quarantine == q.Reason:
	default:
		t.emit(&events.WorkflowPaused{Quarantine: q.Reason})
	}
}

// paused pauses. A quarantine leaves it at what it is if it admits nothing anyway.
func (w *workflow) paused(e *events.WorkflowPaused) {
	h := w.h()
	if e.Quarantine != "" {
		h.troubled().Quarantine = e.Quarantine
	}
	if e.Quarantine == "" || h.Status == Running || h.Status == Idle || h.Status == Failed {
		w.turnTo(Paused)
	}
}

// endQuarantine forgets why the workflow was held.
func (w *workflow) endQuarantine() {
	if h := w.h(); h.Trouble != nil && h.Trouble.Quarantine != "" {
		h.troubled().Quarantine = ""
	}
}
