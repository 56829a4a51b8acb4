package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// What a failing seed prints is a run that fails in the same way, with fewer
// faults.
func TestAShrunkRunStillFails(t *testing.T) {
	for seed := uint64(1); seed < 40; seed++ {
		o := options(seed)
		o.Flaws = loop.Flaws{CommittedPositions: true}
		whole := Run(o)
		if whole.Err == nil || len(whole.Faults) < 5 {
			continue
		}
		small := Shrink(t.Context(), o)
		if small.Err == nil || small.Kind != whole.Kind || len(small.Faults) >= len(whole.Faults) || len(small.History) == 0 {
			t.Errorf("seed %d: %d faults became %d, and %q became %q: %v", seed, len(whole.Faults), len(small.Faults), whole.Kind, small.Kind, small.Err)
		}
		return
	}
	t.Error("no seed fails")
}

// A smaller run that fails in another way is not taken, and clients whom the
// failure is not about are sent away.
func TestShrinkingKeepsToTheFailure(t *testing.T) {
	o := Options{Seed: 3, Steps: 100, Faults: []Fault{{1, "kill", 1}, {5, "rot", 2}, {9, "move", 3}}}
	ours := workload.NewPlan(o.Seed).Workflows[0].ID
	run := func(o Options) Result {
		has := func(kind string) bool {
			return slices.ContainsFunc(o.Faults, func(f Fault) bool { return f.Kind == kind })
		}
		r := Result{Faults: o.Faults, Absent: o.Absent, Steps: o.Steps, About: Subject{Workflow: ours}}
		switch {
		case has("kill") && has("rot"):
			r.Err, r.Kind = errors.New("a row of r1 is lost"), "a row of %s is lost"
		case len(o.Faults) > 0:
			r.Err, r.Kind = errors.New("after 3s nothing comes to rest"), "after %v nothing comes to rest"
		}
		return r
	}
	small := shrink(t.Context(), o, run)
	if small.Kind != "a row of %s is lost" || len(small.Faults) != 2 || small.Steps != 6 {
		t.Errorf("it ends with %q, %v, %d steps", small.Kind, small.Faults, small.Steps)
	}
	if !slices.Contains(small.Absent, meddling) || slices.Contains(small.Absent, ours) {
		t.Errorf("%v do not come", small.Absent)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if whole := shrink(ended, o, run); len(whole.Faults) != 3 || len(whole.Absent) > 0 {
		t.Errorf("without time it becomes %v, %v", whole.Faults, whole.Absent)
	}
}

// What fails in the same way is of one kind, whatever its names and numbers.
func TestFailuresHaveKinds(t *testing.T) {
	fold := func(w, what string) error { return &workload.Complaint{Workflow: w, Kind: what, Err: errors.New(w)} }
	refused := func(code string) error {
		return fmt.Errorf("life 1: %w", &refusedError{"start", code, errors.New(code)})
	}
	of := func(format string, args ...any) string {
		w := &world{plan: &workload.Plan{Partitions: 3}}
		w.audit.world, w.injector.world, w.members.world = w, w, w
		w.fail(format, args...)
		w.fail("another")
		return w.kind
	}
	same := [][2]string{
		{of("task %s, %d", "a", 1), of("task %s, %d", "b", 2)},
		{of("journal: %w", errors.Join(fold("w1", "x"), fold("w2", "y"))), of("journal: %w", fold("w3", "x"))},
		{of("the user of %s: %w", "w1", refused("closed")), of("the user of %s: %w", "w2", refused("closed"))},
	}
	for i, a := range same {
		if a[0] != a[1] {
			t.Errorf("%q is not %q", a[0], a[1])
		}
		for _, b := range same[:i] {
			if a[0] == b[0] {
				t.Errorf("%q is two kinds", a[0])
			}
		}
	}
	if of("journal: %w", fold("w", "x")) == of("journal: %w", fold("w", "y")) || of("a: %w", refused("closed")) == of("a: %w", refused("stopped")) {
		t.Error("different complaints are of one kind")
	}
}

// A client that does not come leaves nothing behind, and all else comes to rest.
// What strangers write under its key (poison) is not its own.
func TestARunWithoutAClientComesToRest(t *testing.T) {
	o := options(3)
	o.Faults = slices.DeleteFunc(o.drawFaults(), func(f Fault) bool { return f.Kind == "poison" })
	plan := workload.NewPlan(o.Seed)
	for _, absent := range append([]string{meddling}, plan.Workflows[0].ID) {
		o.Absent = append(o.Absent, absent)
		r := Run(o)
		if r.Err != nil {
			t.Errorf("without %v: %v", o.Absent, r.Err)
		}
		for _, journal := range r.Journals {
			for _, rec := range journal {
				if strings.HasPrefix(string(rec.Key), absent) || absent == meddling && strings.HasPrefix(string(rec.Key), "odd-") {
					t.Errorf("without %v there is a record of %s", o.Absent, rec.Key)
				}
			}
		}
	}
}
