package archiver

import (
	"bytes"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// Records of the partition itself that name a run are among its entries, and change nothing of what it comes to; but a timer
// at which a defect was met is gone.
func TestWhatThePartitionSaysOfARunIsNotFolded(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	r.ends("a")
	var timer []byte
	for _, k := range r.state.Keys() {
		if k.Table == rows.Timer {
			timer = k.Append(nil)
		}
	}
	if timer == nil {
		t.Fatal("the run has no timer")
	}
	for _, e := range []events.Event{
		&events.InputRejected{Reason: "r"}, &events.InputForwarded{}, &events.EffectFailed{}, &events.DeliveryConfirmedLate{ID: "x"},
		&events.WorkflowQuarantined{Reason: "r", Timer: timer},
	} {
		r.append(&events.Record{Workflow: "a", Events: []events.Event{e}})
	}
	r.archiver(nil)
	r.hears(1)
	r.is("a", "completed")

	_, _, recs := r.run("a")
	fold := archive.NewFolder(0).Begin("a")
	for _, rec := range recs {
		r.must(fold.Add(rec, func(string) ([]byte, bool) { return []byte(waiting), true }))
	}
	m, err := fold.Restore()
	r.must(err)
	if slices.ContainsFunc(m.Rows, func(row events.RestoredRow) bool { return bytes.Equal(row.Key, timer) }) {
		t.Fatal("the timer is restored")
	}
}
