package main

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

// The bench begins again as long as there are faults to come: at once when it gave
// up, and after a rest when its turn was over.
func TestTheBenchGoesOnInTurns(t *testing.T) {
	for name, c := range map[string]struct {
		since, end time.Duration
		err        error
		after      time.Duration // 0: not again
	}{
		"its turn is over":       {10 * time.Minute, 30 * time.Minute, nil, benchRest},
		"it gave up":             {10 * time.Minute, 30 * time.Minute, errors.New("exit status 3"), restartAfter},
		"there are few faults":   {29*time.Minute + 50*time.Second, 30 * time.Minute, nil, 0},
		"it gave up at the end":  {30 * time.Minute, 30 * time.Minute, errors.New("exit status 3"), 0},
		"nothing is planned yet": {time.Second, 0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := &deployment{}
			r := newDirector(d)
			r.began, r.end = time.Now().Add(-c.since), c.end
			p := &process{name: "bench", life: 3, cmd: &exec.Cmd{}, started: time.Now()}
			if err := r.ended(ending{of: p, life: 3, err: c.err}); err != nil {
				t.Fatal(err)
			}
			if c.after == 0 {
				if len(r.steps) > 0 {
					t.Errorf("it begins again: %v", r.steps)
				}
				return
			}
			if len(r.steps) != 1 || r.steps[0].do != start || r.steps[0].who != ofBench || r.bench != p || r.steps[0].at < c.since+c.after {
				t.Errorf("planned are %v, want a start %v later", r.steps, c.after)
			}
		})
	}
}
