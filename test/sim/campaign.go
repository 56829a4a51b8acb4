package sim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/test/sim/workload"
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

// EnoughSeeds are the seeds over which everything has to occur: over 300 no probe was answered.
const EnoughSeeds = 1000

// excused are the things that need not occur, with the reason.
func excused(embedded bool) map[string]string {
	all := map[string]string{
		"JournalLost": "no journal is lost: TestJournalLossEquivalence loses some",
	}
	all["SignalExpired"] = "no seed lasts as long as a signal is kept: testdata/any/signal.txt of services/planner has some that expire"
	all["ArchiveAwaited"] = "no seed lasts as long as a workflow is kept: testdata of services/planner has some that wait to be archived"
	all["WorkflowRestored"] = "nobody restores what is archived: the audit of an archive folds it, and tests of services/planner and of the gateway restore"
	all["too_many_signals"] = "no seed sends a thousand signals that nobody wants: TestSignalsThatNobodyTakesAreBounded does"
	all["ExecutorDisowned"] = "hardly any executor is back when its sockets are taken for gone: the walks of services/planner/pool have some"
	for _, name := range []string{"AlarmSet", "RunnableParked"} {
		all[name] = "no task of a plan sleeps: tests of services/planner have some that do"
	}
	for _, name := range []string{"PoolResized", "RunnerRedirected", "SlotsAsked", "SlotsSpared"} {
		all[name] = "no pool of a plan has shards: the walks of services/planner/pool have some that do"
	}
	if embedded {
		all["unavailable"] = "one broker answers all whom it can hear: TestE6AReadWhoseOwnerCannotReadOnSaysWhy has one that does not"
		all["InputLogTruncated"] = "a cluster of one broker has no election in which a log loses its newest records"
	}
	return all
}

// Garbage is the GOGC of a process that runs seeds: worlds are small and soon over,
// and their garbage is collected less often than live memory would ask for.
const Garbage = 400

// Run runs the seeds, several at a time. It prints every failure, shrunk, and
// where to go on, and returns an error if there was any. When ctx ends, it says
// at once where to go on, begins no other seed, shrinks no further, and ends when
// the seeds under way have.
func (c Campaign) Run(ctx context.Context, out io.Writer) error {
	r := newRunning(c, out)
	stop := r.tellWhenInterrupted(ctx)
	defer stop()
	var wg sync.WaitGroup
	for range min(uint64(runtime.GOMAXPROCS(0)), c.Count) {
		wg.Go(func() { r.work(ctx) })
	}
	wg.Wait()
	return r.end(ctx)
}

type running struct {
	Campaign
	out io.Writer

	mu           sync.Mutex
	next         uint64
	underWay     map[uint64]struct{} // those that were taken and have not ended
	done, failed int
	covered      workload.Coverage
	began, told  time.Time
}

func newRunning(c Campaign, out io.Writer) *running {
	now := time.Now()
	return &running{Campaign: c, out: out, next: c.First, underWay: map[uint64]struct{}{}, covered: workload.NewCoverage(), began: now, told: now}
}

// tellWhenInterrupted tells where to go on as soon as ctx ends, for the user who is
// killed next. The function that it returns ends that.
func (r *running) tellWhenInterrupted(ctx context.Context) func() {
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tell()
	})
	return func() {
		if !stop() {
			<-told
		}
	}
}

// end tells what the campaign has come to, and returns it as an error.
func (r *running) end(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell()
	missing := r.covered.Missing(excused(r.Embedded))
	switch {
	case ctx.Err() != nil && uint64(r.done) < r.Count:
		return ctx.Err()
	case r.Count >= EnoughSeeds && len(missing) > 0:
		return fmt.Errorf("%d seeds failed; in none there was: %s", r.failed, strings.Join(missing, ", "))
	case r.failed > 0:
		return fmt.Errorf("%d seeds failed", r.failed)
	}
	return nil
}

func (r *running) work(ctx context.Context) {
	for ctx.Err() == nil {
		seed, more := r.take()
		if !more {
			return
		}
		o := Options{Seed: seed, Steps: r.Steps, Embedded: r.Embedded}
		got := Run(o)
		var small *Result
		if got.Err != nil {
			shrunk := Shrink(ctx, o)
			small = &shrunk
		}
		r.note(got, small)
	}
}

// take hands out the next seed, if there is one.
func (r *running) take() (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next >= r.First+r.Count {
		return 0, false
	}
	seed := r.next
	r.next++
	r.underWay[seed] = struct{}{}
	return seed, true
}

func (r *running) note(got Result, small *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.underWay, got.Seed)
	r.done++
	r.covered.Add(got.Covered)
	if small != nil {
		r.failed++
		fmt.Fprintf(r.out, "seed %d fails (heddle-sim --seed %d --steps %d --cluster %s): %v\n", got.Seed, got.Seed, r.Steps, r.cluster(), got.Err)
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

// tell says how far it is. To go on means to run also what is under way.
func (r *running) tell() {
	took, goOn := time.Since(r.began).Seconds(), r.next
	for seed := range r.underWay { // order: of no matter to the least
		goOn = min(goOn, seed)
	}
	fmt.Fprintf(r.out, "%d seeds in %.0f s (%.1f/s), %d failed; go on with --seed %d\n", r.done, took, float64(r.done)/took, r.failed, goOn)
}

// Describe prints a run that failed: its faults, what is wrong, and the end of
// its history: of what concerns the failure, or of everything.
func Describe(out io.Writer, r Result, lines int, all bool) {
	fmt.Fprintf(out, "shrunk to %d faults: %v\nno clients of: %v\nafter %d steps and %v: %v\n", len(r.Faults), r.Faults, r.Absent, r.Steps, r.Took, r.Err)
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
