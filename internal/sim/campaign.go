package sim

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/sim/workload"
)

// Campaign is a range of seeds.
type Campaign struct {
	First, Count uint64
	Steps        int
	Embedded     bool          // over the embedded broker
	Lines        int           // of a failing history that are printed
	All          bool          // the lines about others and noise too
	Every        time.Duration // between two lines about the progress; 0: none
}

// EnoughSeeds are the seeds over which everything has to occur.
const EnoughSeeds = 300

// excused are the things that need not occur, with the reason.
func excused(embedded bool) map[string]string {
	if embedded {
		return map[string]string{"InputLogTruncated": "a cluster of one broker has no election in which a log loses its newest records"}
	}
	return nil
}

// Run runs the seeds, several at a time. It prints every failure, shrunk, and
// where to go on, and returns an error if there was any.
func (c Campaign) Run(out io.Writer) error {
	r := running{Campaign: c, next: c.First, covered: workload.NewCoverage(), began: time.Now(), out: out}
	r.told = r.began
	var wg sync.WaitGroup
	for range min(uint64(runtime.GOMAXPROCS(0)), c.Count) {
		wg.Go(r.work)
	}
	wg.Wait()
	r.tell()
	if missing := r.covered.Missing(excused(r.Embedded)); c.Count >= EnoughSeeds && len(missing) > 0 {
		return fmt.Errorf("%d seeds failed; in none there was: %s", r.failed, strings.Join(missing, ", "))
	}
	if r.failed > 0 {
		return fmt.Errorf("%d seeds failed", r.failed)
	}
	return nil
}

type running struct {
	Campaign
	out io.Writer

	mu           sync.Mutex
	next         uint64
	done, failed int
	covered      workload.Coverage
	began, told  time.Time
}

func (r *running) work() {
	for {
		r.mu.Lock()
		seed := r.next
		r.next++
		r.mu.Unlock()
		if seed >= r.First+r.Count {
			return
		}
		o := Options{Seed: seed, Steps: r.Steps, Embedded: r.Embedded}
		got := Run(o)
		var small *Result
		if got.Err != nil {
			shrunk := Shrink(o)
			small = &shrunk
		}
		r.note(got, small)
	}
}

func (r *running) note(got Result, small *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.covered.Add(got.Covered)
	if small != nil {
		r.failed++
		fmt.Fprintf(r.out, "seed %d fails (heddle sim --seed %d --steps %d --cluster %s): %v\n", got.Seed, got.Seed, r.Steps, r.cluster(), got.Err)
		Describe(r.out, *small, r.Lines, r.All)
	}
	if r.Every > 0 && time.Since(r.told) >= r.Every {
		r.told = time.Now()
		r.tell()
	}
}

// cluster is what a command line says of what is simulated.
func (c Campaign) cluster() string {
	if c.Embedded {
		return "embedded"
	}
	return "model"
}

func (r *running) tell() {
	took := time.Since(r.began).Seconds()
	fmt.Fprintf(r.out, "%d seeds in %.0f s (%.1f/s), %d failed; go on with --seed %d\n", r.done, took, float64(r.done)/took, r.failed, min(r.next, r.First+r.Count))
}

// Describe prints a run that failed: its faults, what is wrong, and the end of
// its history: of what concerns the failure, or of everything.
func Describe(out io.Writer, r Result, lines int, all bool) {
	fmt.Fprintf(out, "shrunk to %d faults: %v\nafter %d steps and %v: %v\n", len(r.Faults), r.Faults, r.Steps, r.Took, r.Err)
	h := r.History
	if !all {
		h = Concerning(r.About, h)
		fmt.Fprintf(out, "%d of %d lines concern %s (--all prints all):\n", len(h), len(r.History), cmp.Or(r.About.String(), "the failure, which names nobody"))
	}
	if cut := len(h) - lines; cut > 0 {
		fmt.Fprintf(out, "… %d lines before\n", cut)
		h = h[cut:]
	}
	for _, line := range h {
		fmt.Fprintln(out, line.Text)
	}
}
