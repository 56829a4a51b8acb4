package workload

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
)

// Results are what a workflow came to, as its client sees it.
type Results struct {
	Status      string
	Outputs     map[string]json.RawMessage
	Productions map[string][]json.RawMessage
	Counts      events.Counts
	Run         string
}

// Check holds what a workflow came to against the oracle.
func (w *Workflow) Check(got Results) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, complain(w.ID, format, args...)) }
	want := w.Graph.Expected(w.Inputs())
	for name, list := range want.Productions {
		have := []string{}
		for _, v := range got.Productions[name] {
			have = append(have, string(v))
		}
		slices.Sort(have)
		if !slices.Equal(have, list) {
			bad("%s: %s produced %v, want %v", w.ID, name, have, list)
		}
	}
	if len(got.Productions) != len(want.Productions) {
		bad("%s: %d components have productions, want %d", w.ID, len(got.Productions), len(want.Productions))
	}
	for name, may := range want.Outputs {
		if !slices.Contains(may, string(got.Outputs[name])) {
			bad("%s: output %s is %s, want one of %v", w.ID, name, got.Outputs[name], may)
		}
	}
	if got.Counts.Completed != want.completed || got.Counts.Skipped != want.skipped {
		bad("%s: %d completed and %d skipped runnables, want %d and %d", w.ID, got.Counts.Completed, got.Counts.Skipped, want.completed, want.skipped)
	}
	if c := got.Counts; c.Ready+c.Waiting+c.Active+c.Failed > 0 || c.Cancelled != want.cancelled {
		bad("%s rests %s with %+v", w.ID, got.Status, c)
	}
	return errors.Join(errs...)
}
