package bench

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/bench/floor"
	"github.com/heddle-run/heddle/sdk/client"
)

// Options say what to measure.
type Options struct {
	Workload    Workload
	Concurrency int           // workflows at a time
	Duration    time.Duration // of the measurement, after the warm-up
	AtLeast     int           // workflows: it lasts until so many have ended, however long that takes; zero: one
	WarmUp      time.Duration // zero: a fifth of the duration, a second at least
	Via         string
	Slots       int          // of the worker; zero: by the concurrency
	Logger      *slog.Logger // nil: silent
}

// Measure runs a workload and returns its figure.
func Measure(ctx context.Context, t Target, o Options) (Figure, error) {
	if o.Concurrency < 1 || o.Duration <= 0 {
		return Figure{}, fmt.Errorf("want at least one workflow at a time and some duration, got %d and %s", o.Concurrency, o.Duration)
	}
	if o.Slots == 0 {
		o.Slots = min(256, max(16, o.Concurrency))
	}
	if err := t.prepare(ctx); err != nil {
		return Figure{}, err
	}
	cl, err := t.Connect(ctx, o.Via, o.Concurrency)
	if err != nil {
		return Figure{}, err
	}
	defer cl.Close()
	var f Figure
	err = t.working(ctx, o.Slots, o.Logger, func(ctx context.Context) error {
		if _, err := cl.Define(ctx, o.Workload.DefinitionName(), o.Workload.Definition); err != nil {
			return err
		}
		var err error
		f, err = measure(ctx, cl, t, o)
		return err
	})
	return f, err
}

// Floor measures the floor of o's workload on t's brokers.
func Floor(ctx context.Context, t Target, o Options) (Figure, error) {
	warmUp := o.warmUp()
	before, err := cpuTime()
	if err != nil {
		return Figure{}, err
	}
	r, err := floor.Run(ctx, floor.Options{
		Brokers: t.Brokers, Security: t.Security, Workload: floor.Workload(o.Workload.Name), Concurrency: o.Concurrency,
		Duration: o.Duration, WarmUp: warmUp, Partitions: t.Partitions,
	})
	if err != nil {
		return Figure{}, err
	}
	after, err := cpuTime()
	if err != nil {
		return Figure{}, err
	}
	f := Figure{
		Workload: o.Workload.Name, Concurrency: o.Concurrency, WorkflowsPS: round(r.WorkflowsPS, 1), StepsPS: round(r.StepsPS, 1),
		P50: round(r.P50Millis, 3), P99: round(r.P99Millis, 3), Errors: r.Errors, Measured: round(o.Duration.Seconds(), 2),
	}
	// The warm-up works as the measurement does, and is in the CPU time.
	if steps := r.StepsPS * (warmUp + o.Duration).Seconds(); steps > 0 {
		f.CPUPerStep = round(float64((after-before).Microseconds())/steps, 2)
	}
	return f, nil
}

// warmUp is how long the warm-up takes: a fifth of the duration, a second at
// least, unless it is given.
func (o Options) warmUp() time.Duration {
	if o.WarmUp > 0 {
		return o.WarmUp
	}
	return max(time.Second, o.Duration/5)
}

const (
	// turns is how often Compare measures the engine and the floor: machines
	// change their speed within seconds.
	turns = 3

	// lull is the pause behind a measurement. What the engine has put off, a
	// checkpoint or a compaction, would count against the floor.
	lull = time.Second
)

// Compare measures the engine and the floor in turns, each for its part of the
// duration, and returns the turn whose share of steps is the middle one.
func Compare(ctx context.Context, t Target, o Options) (Figure, error) {
	o.WarmUp, o.Duration = o.warmUp(), o.Duration/turns
	var all []Figure
	for range turns {
		f, err := compareOnce(ctx, t, o)
		if err != nil {
			return f, err
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Figure) int { return cmp.Compare(a.OfFloor, b.OfFloor) })
	return all[turns/2], nil
}

func compareOnce(ctx context.Context, t Target, o Options) (Figure, error) {
	f, err := Measure(ctx, t, o)
	if err == nil {
		err = pause(ctx, lull)
	}
	if err != nil {
		return f, err
	}
	low, err := Floor(ctx, t, o)
	if err == nil {
		err = pause(ctx, lull)
	}
	if err != nil {
		return f, fmt.Errorf("the floor: %w", err)
	}
	f.compare(low)
	return f, nil
}

// measure runs the clients: through the warm-up, then for the duration.
func measure(ctx context.Context, cl *client.Client, t Target, o Options) (Figure, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l := newLoad(cl, o)
	samples := make([]sample, o.Concurrency)
	var clients sync.WaitGroup
	for i := range samples {
		clients.Go(func() { l.run(ctx, &samples[i]) })
	}
	before, err := l.interval(ctx, t, o)
	var after usage
	if err == nil {
		after, err = t.usage()
	}
	stop()
	clients.Wait()
	if err != nil {
		return Figure{}, err
	}
	f := summarize(o.Workload, o.Concurrency, after.at.Sub(before.at), samples)
	f.Via = o.Via
	if steps := float64(f.Workflows * o.Workload.Steps); steps > 0 {
		f.CPUPerStep = round(float64((after.cpu-before.cpu).Microseconds())/steps, 2)
		f.BytesPerStep = round(float64(after.disk-before.disk)/steps, 1)
	}
	return f, nil
}

// interval waits through the warm-up and the measurement: the duration, and on until
// enough workflows have ended. What was used before the measurement is returned.
func (l *load) interval(ctx context.Context, t Target, o Options) (usage, error) {
	if err := pause(ctx, o.warmUp()); err != nil {
		return usage{}, err
	}
	before, err := t.usage()
	if err != nil {
		return before, err
	}
	l.counting.Store(true)
	defer l.counting.Store(false)
	if err := pause(ctx, o.Duration); err != nil {
		return before, err
	}
	select {
	case <-l.enough:
		return before, nil
	case <-ctx.Done():
		return before, context.Cause(ctx)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
