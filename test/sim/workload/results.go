package workload

import (
	"encoding/json"
	"errors"
	"fmt"
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
	_, forgets := w.Graph.keep()
	for name, list := range want.Productions {
		have := []string{}
		for _, v := range got.Productions[name] {
			have = append(have, w.Graph.plain(name, v))
		}
		slices.Sort(have)
		if !slices.Equal(have, list) && !(forgets && within(have, list)) {
			bad("%s: %s produced %v, want %v", w.ID, name, have, list)
		}
	}
	for name, n := range want.numbers {
		if have := len(got.Productions[name]); have != n && !(forgets && have < n) {
			bad("%s: %s produced %v, want %d values", w.ID, name, got.Productions[name], n)
		}
	}
	if have, n := len(got.Productions), len(want.Productions)+len(want.reminders)+len(want.numbers); have != n {
		bad("%s: %d components have productions, want %d", w.ID, have, n)
	}
	forgotten := uint64(0) // what may have completed, and is not shown
	for name, r := range want.reminders {
		for _, v := range got.Productions[name] {
			if r.may[string(v)]--; r.may[string(v)] < 0 {
				bad("%s: %s reminds of %s once too often", w.ID, name, v)
			}
			if r.step {
				want.completed++
			}
		}
		for _, n := range r.may {
			if r.step && forgets {
				forgotten += uint64(n)
			}
		}
	}
	for name, may := range want.Outputs {
		if have := w.Graph.plain(w.Graph.outs()[name], got.Outputs[name]); !slices.Contains(may, have) {
			bad("%s: output %s is %s, want one of %v", w.ID, name, got.Outputs[name], may)
		}
	}
	if done := got.Counts.Completed; done < want.completed || done > want.completed+forgotten || got.Counts.Skipped != want.skipped {
		bad("%s: %d completed and %d skipped runnables, want %d and %d", w.ID, got.Counts.Completed, got.Counts.Skipped, want.completed, want.skipped)
	}
	if c := got.Counts; c.Ready+c.Waiting+c.Active+c.Failed > 0 || c.Cancelled != want.cancelled {
		bad("%s rests %s with %+v", w.ID, got.Status, c)
	}
	return errors.Join(errs...)
}

// plain is what a component has yielded, as the oracle writes it: of the errors of a reduce it
// knows of which elements they are.
func (g *Graph) plain(component string, v json.RawMessage) string {
	i := slices.IndexFunc(g.Components, func(c *Component) bool { return c.Name == component })
	if i < 0 || !g.Components[i].errors || string(v) == "null" {
		return string(v)
	}
	var value struct {
		Errors []struct {
			Index int
			Error struct{ Type string }
		}
		Value int64
	}
	if err := json.Unmarshal(v, &value); err != nil {
		return string(v)
	}
	failed := []string{}
	for _, e := range value.Errors {
		if e.Error.Type == "" {
			return string(v)
		}
		failed = append(failed, fmt.Sprint(e.Index))
	}
	return text(g.Components[i].value(value.Value, failed))
}

// within reports whether a sorted list is part of another.
func within(part, all []string) bool {
	for _, v := range part {
		i, there := slices.BinarySearch(all, v)
		if !there {
			return false
		}
		all = all[i+1:]
	}
	return true
}
