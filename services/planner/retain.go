package planner

import (
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// DefaultRetain is how long workflows at rest are kept where nobody says.
var DefaultRetain = definition.Retain{
	Completed: 7 * 24 * time.Hour, Failed: 90 * 24 * time.Hour, Cancelled: 7 * 24 * time.Hour, Idle: definition.Forever,
}

// retention is how long a workflow is kept that has come to a status; not above 0: until
// somebody deletes it.
func (w *workflow) retention(s Status) time.Duration {
	keep := w.options().Retain
	switch s {
	case Completed:
		return keep.Completed
	case Failed:
		return keep.Failed
	case Cancelled:
		return keep.Cancelled
	case Idle:
		return keep.Idle
	default:
		return definition.Forever
	}
}

// retain says until when a workflow is kept that a record has brought to rest.
func (t *turn) retain() {
	if t.head == nil || t.head.Status == Running || t.head.Until != 0 {
		return
	}
	if d := t.retention(t.head.Status); d > 0 {
		t.emit(&events.RetentionArmed{Until: t.now + d.Milliseconds()})
	}
}

func (w *workflow) retentionArmed(e *events.RetentionArmed) { w.endAt(e.Until) }

// keptLongEnough deletes a workflow that has been at rest for as long as it is kept, whatever
// it has open.
func (t *turn) keptLongEnough(k rows.Key) {
	if t.head.Until != int64(k.A) || t.head.Status == Stopping {
		return
	}
	s := t.head.Status
	t.delete(events.By{Who: "heddle", Why: fmt.Sprintf("it has been %s for %s (option retain)", s, t.retention(s))})
}
