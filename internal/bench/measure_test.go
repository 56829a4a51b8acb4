package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/bench"
	"github.com/heddle-run/heddle/internal/dev"
)

func deploy(t *testing.T) (context.Context, bench.Target) {
	t.Helper()
	ctx := t.Context()
	d, err := dev.Start(ctx, dev.Options{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return ctx, bench.Target{Brokers: d.Brokers, URL: d.URL, Prefix: d.Prefix, Dir: d.Dir, Partitions: 2, Restart: d.RestartPlanner}
}

// A measurement lasts until workflows have ended in it, so that a slow machine takes
// longer and measures the same.
func TestEveryWorkloadIsMeasuredBothWays(t *testing.T) {
	const least = 5
	ctx, target := deploy(t)
	for _, name := range bench.Workloads {
		for _, via := range []string{bench.ViaKafka, bench.ViaHTTP} {
			w, err := bench.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := bench.Measure(ctx, target, bench.Options{
				Workload: w, Concurrency: 2, Duration: time.Millisecond, AtLeast: least, WarmUp: time.Millisecond, Via: via,
			})
			if err != nil {
				t.Fatalf("%s via %s: %v", name, via, err)
			}
			if f.Workflows < least || f.StepsPS < f.WorkflowsPS || f.P50 <= 0 || f.P99 < f.P50 || f.Errors != 0 || f.CPUPerStep <= 0 {
				t.Errorf("%s via %s: %+v", name, via, f)
			}
		}
	}
}

func TestIdleWorkflowsAreWeighed(t *testing.T) {
	ctx, target := deploy(t)
	f, err := bench.Idle(ctx, target, 50, bench.Options{Via: bench.ViaKafka}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Workflows != 50 || f.Errors != 0 || f.RSS <= 0 || f.Disk <= 0 || f.Restart <= 0 || f.Restore <= 0 {
		t.Errorf("got %+v", f)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	w, err := bench.Find("single")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []bench.Options{
		{Workload: w, Duration: time.Second, Via: bench.ViaKafka},
		{Workload: w, Concurrency: 1, Via: bench.ViaKafka},
	} {
		if _, err := bench.Measure(t.Context(), bench.Target{}, o); err == nil {
			t.Errorf("%+v was measured", o)
		}
	}
	if _, err := (bench.Target{}).Connect(t.Context(), "pigeon", 1); err == nil {
		t.Error("a way that does not exist was taken")
	}
	if _, err := (bench.Target{}).Connect(t.Context(), bench.ViaHTTP, 1); err == nil {
		t.Error("HTTP without a URL")
	}
}
