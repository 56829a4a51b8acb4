package bench

import (
	"slices"
	"time"
)

// Figure is what one run measured. Field names are a contract.
type Figure struct {
	Workload     string  `json:"workload"`
	Concurrency  int     `json:"concurrency"`
	Via          string  `json:"via,omitempty"` // kafka or http; empty for the floor
	WorkflowsPS  float64 `json:"workflows_per_s"`
	StepsPS      float64 `json:"steps_per_s"`
	Workflows    int     `json:"workflows,omitempty"` // that were measured, errors aside; 0 for the floor
	P50          float64 `json:"p50_ms"`              // of one workflow, start to result
	P99          float64 `json:"p99_ms"`
	Errors       int     `json:"errors"`
	CPUPerStep   float64 `json:"cpu_us_per_step,omitempty"`  // of this process
	BytesPerStep float64 `json:"bytes_per_step,omitempty"`   // of the broker's and planners' directories
	Floor        *Figure `json:"floor,omitempty"`            // the same record flow with empty logic
	OfFloor      float64 `json:"share_of_floor,omitempty"`   // steps/s, engine over floor
	P50OfFloor   float64 `json:"p50_over_floor,omitempty"`   // engine over floor
	CPUOfFloor   float64 `json:"cpu_over_floor,omitempty"`   // CPU per step, engine over floor: says most on a busy machine
	FirstError   string  `json:"first_error,omitempty"`      // an example of Errors
	Measured     float64 `json:"measured_seconds,omitempty"` // how long
}

// compare puts the floor beside the engine's figure.
func (f *Figure) compare(floor Figure) {
	f.Floor = &floor
	if floor.StepsPS > 0 {
		f.OfFloor = round(f.StepsPS/floor.StepsPS, 3)
	}
	if floor.CPUPerStep > 0 {
		f.CPUOfFloor = round(f.CPUPerStep/floor.CPUPerStep, 2)
	}
	if floor.P50 > 0 {
		f.P50OfFloor = round(f.P50/floor.P50, 2)
	}
}

// percentile is the p-th part (0 to 1) of sorted latencies, in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(p*float64(len(sorted))), len(sorted)-1)
	return round(float64(sorted[i])/float64(time.Millisecond), 3)
}

// sample is what one client measured.
type sample struct {
	latencies []time.Duration
	errors    int
	first     error
}

// add counts one workflow, or what came instead of its end.
func (s *sample) add(took time.Duration, err error) {
	if err == nil {
		s.latencies = append(s.latencies, took)
		return
	}
	s.errors++
	if s.first == nil {
		s.first = err
	}
}

// summarize turns samples over an interval into a figure.
func summarize(w Workload, concurrency int, took time.Duration, samples []sample) Figure {
	var all []time.Duration
	f := Figure{Workload: w.Name, Concurrency: concurrency, Measured: round(took.Seconds(), 2)}
	for _, s := range samples {
		all = append(all, s.latencies...)
		f.Errors += s.errors
		if s.first != nil && f.FirstError == "" {
			f.FirstError = s.first.Error()
		}
	}
	slices.Sort(all)
	f.Workflows = len(all)
	f.WorkflowsPS = round(float64(len(all))/took.Seconds(), 1)
	f.StepsPS = round(float64(len(all)*w.Steps)/took.Seconds(), 1)
	f.P50, f.P99 = percentile(all, 0.50), percentile(all, 0.99)
	return f
}

// round keeps so many digits after the point.
func round(x float64, digits int) float64 {
	scale := 1.0
	for range digits {
		scale *= 10
	}
	return float64(int64(x*scale+0.5)) / scale
}
