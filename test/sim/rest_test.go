package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/test/sim/workload"
)

// A plan that has work for long may take long, however many steps that is.
func TestAPlanComesToRestAfterItsWork(t *testing.T) {
	w := playStep(func(c *workload.Component) { c.Acts.Takes = 20 * time.Minute })
	if err := w.err(); err != nil {
		t.Error(err)
	}
	if w.step <= mostSteps {
		t.Errorf("it rests after %d steps, which shows nothing", w.step)
	}
}

// An owner that only waits is noticed: waiting is no work.
func TestWhoDoesNotComeToRestIsNoticed(t *testing.T) {
	w := playStep(func(c *workload.Component) { c.Acts.Hangs = 1 })
	if err := w.err(); err == nil || !strings.Contains(err.Error(), "nothing comes to rest") {
		t.Errorf("a step that never ends comes to %v", err)
	}
	if want := mostSteps + 1; w.step != want {
		t.Errorf("that is said after %d steps, want %d", w.step, want)
	}
}

// playStep plays a plan of one step, which no policy bounds in time.
func playStep(act func(*workload.Component)) (w *world) {
	plan := strangersPlan(nil)
	plan.Workflows[0].Graph = oneStep()
	act(plan.Workflows[0].Graph.Components[0])
	bubble(func() {
		w = newWorldOf(Options{Seed: 1, Absent: []string{meddling}}, plan, schedulerDice(1), 1)
		w.play()
	})
	return w
}

// oneStep is a graph of one step that ends at once, and well.
func oneStep() *workload.Graph {
	for seed := uint64(1); ; seed++ {
		g := workload.NewDice(seed).Graph("long", false)
		c := g.Components[0]
		a := &c.Acts
		if len(g.Components) == 1 && a.Queue != "" && a.Takes == 0 && a.Hangs+a.Fails == 0 && !a.Hopeless && !a.External {
			return g
		}
	}
}
