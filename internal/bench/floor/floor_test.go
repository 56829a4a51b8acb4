package floor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/bench/floor"
	"github.com/heddle-run/heddle/internal/broker"
)

func TestEveryWorkloadEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := broker.Start(ctx, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, w := range floor.Workloads() {
		r, err := measured(ctx, b.Addr(), w)
		if err != nil {
			t.Fatalf("%s: %v", w, err)
		}
		if r.WorkflowsPS == 0 || r.StepsPS < r.WorkflowsPS || r.P99Millis < r.P50Millis || r.Errors != 0 {
			t.Errorf("%s: %+v", w, r)
		}
	}
}

// measured runs a workload for as long as it takes a busy machine to end some
// workflow of it.
func measured(ctx context.Context, addr string, w floor.Workload) (floor.Result, error) {
	for d := 200 * time.Millisecond; ; d *= 2 {
		r, err := floor.Run(ctx, floor.Options{
			Brokers: []string{addr}, Workload: w, Concurrency: 4, Duration: d, Partitions: 4,
		})
		if err != nil || r.WorkflowsPS > 0 {
			return r, err
		}
	}
}

// BenchmarkFloor reports the figures that the engine's are compared with.
func BenchmarkFloor(b *testing.B) {
	br, err := broker.Start(b.Context(), broker.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer br.Close()
	for _, concurrency := range []int{1, 128, 512} {
		b.Run(fmt.Sprintf("chain10/%d", concurrency), func(b *testing.B) {
			for b.Loop() {
				r, err := floor.Run(b.Context(), floor.Options{
					Brokers: []string{br.Addr()}, Workload: floor.Chain10, Concurrency: concurrency, Duration: time.Second,
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.StepsPS, "steps/s")
				b.ReportMetric(r.P50Millis, "p50-ms")
			}
		})
	}
}
