package sim

import (
	"context"
	"slices"

	"github.com/heddle-run/heddle/test/sim/workload"
)

// mostRuns bounds the runs of one shrinking.
const mostRuns = 150

// Shrink looks for a smaller run that still fails in the same way: with fewer
// clients, with fewer faults, and over sooner, until ctx ends. It returns the
// smallest that it has found, with its history.
func Shrink(ctx context.Context, o Options) Result { return shrink(ctx, o, Run) }

func shrink(ctx context.Context, o Options, run func(Options) Result) Result {
	whole := run(o)
	if whole.Err == nil {
		return whole
	}
	o.Faults = slices.Clip(whole.Faults)
	s := &shrinking{best: o, kind: whole.Kind, run: run, ctx: ctx}
	s.dropClients(whole.About.Workflow)
	s.dropFaults()
	s.endSooner()
	s.best.Keep = true
	return run(s.best)
}

// shrinking is a run that fails, and gets smaller.
type shrinking struct {
	best Options
	kind string // of its failure
	run  func(Options) Result
	runs int
	ctx  context.Context
}

// try takes smaller options if their run fails as the whole one did. One that
// fails in another way is another defect, or none: its history would mislead.
func (s *shrinking) try(smaller Options) bool {
	if s.runs++; s.runs > mostRuns || s.ctx.Err() != nil {
		return false
	}
	r := s.run(smaller)
	if r.Err == nil || r.Kind != s.kind {
		return false
	}
	s.best = smaller
	return true
}

// dropClients sends those clients away whose workflows the failure is not about.
// Their workflows stay in the plan: of the others nothing may change.
func (s *shrinking) dropClients(about string) {
	all := []string{meddling}
	for _, wf := range workload.NewPlan(s.best.Seed).Workflows {
		all = append(all, wf.ID)
	}
	for _, id := range all {
		if id == about || slices.Contains(s.best.Absent, id) {
			continue
		}
		smaller := s.best
		smaller.Absent = append(slices.Clone(s.best.Absent), id)
		s.try(smaller)
	}
}

// dropFaults leaves faults out, at first half of them at a time.
func (s *shrinking) dropFaults() {
	for size := max(1, len(s.best.Faults)/2); ; size = max(1, size/2) {
		for from := 0; from < len(s.best.Faults); {
			smaller := s.best
			smaller.Faults = slices.Delete(slices.Clone(s.best.Faults), from, min(from+size, len(s.best.Faults)))
			if !s.try(smaller) {
				from += size
			}
		}
		if size == 1 {
			return
		}
	}
}

// endSooner ends the time of faults behind the last of them.
func (s *shrinking) endSooner() {
	smaller := s.best
	smaller.Steps = 0
	if n := len(s.best.Faults); n > 0 {
		smaller.Steps = s.best.Faults[n-1].Step + 1
	}
	if smaller.Steps < s.best.Steps {
		s.try(smaller)
	}
}
