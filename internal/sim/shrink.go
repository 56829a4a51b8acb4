package sim

import (
	"context"
	"slices"
)

// mostRuns bounds the runs of one shrinking.
const mostRuns = 150

// Shrink looks for a smaller run that still fails: with fewer faults, and over
// sooner, until ctx ends. It returns the smallest that it has found, with its
// history.
func Shrink(ctx context.Context, o Options) Result {
	best := Run(o)
	if best.Err == nil {
		return best
	}
	runs := 0
	fails := func(faults []Fault, steps int) bool {
		if runs++; runs > mostRuns || ctx.Err() != nil {
			return false
		}
		try := o
		try.Faults, try.Steps = faults, steps
		return Run(try).Err != nil
	}
	faults := best.Faults
	for size := max(1, len(faults)/2); ; size = max(1, size/2) {
		for from := 0; from < len(faults); {
			fewer := slices.Delete(slices.Clone(faults), from, min(from+size, len(faults)))
			if fails(fewer, o.Steps) {
				faults = fewer
			} else {
				from += size
			}
		}
		if size == 1 {
			break
		}
	}
	steps := 0
	if len(faults) > 0 {
		steps = faults[len(faults)-1].Step + 1
	}
	if steps < o.Steps && !fails(faults, steps) {
		steps = o.Steps
	}
	o.Faults, o.Steps, o.Keep = slices.Clip(faults), steps, true
	if o.Faults == nil {
		o.Faults = []Fault{}
	}
	return Run(o)
}
