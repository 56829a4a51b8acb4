package executor

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

func observed() (*metrics, *prometheus.Registry) {
	m := newMetrics([]worker.Pool{{Queues: []string{"default"}}, {Queues: []string{"orders"}}})
	m.stats = func() []worker.PoolStats { return nil }
	r := prometheus.NewRegistry()
	r.MustRegister(m)
	return m, r
}

func TestEveryOutcomeIsCountedForItsQueue(t *testing.T) {
	m, r := observed()
	outcomes := []string{"pending"}
	for o := events.OutcomeCompleted; o <= events.OutcomeAbandoned; o++ {
		outcomes = append(outcomes, o.String())
	}
	for i, o := range outcomes {
		for range i + 1 {
			m.Began("orders", time.Millisecond)
			m.Ended("orders", o, time.Second)
		}
	}
	m.Dropped("default")

	for i, o := range outcomes {
		if n := value(t, r, "heddle_executor_attempts_total", "orders", o); n != float64(i+1) {
			t.Errorf("%s: %v attempts, want %d", o, n, i+1)
		}
		if n := value(t, r, "heddle_executor_attempts_total", "default", o); n != 0 {
			t.Errorf("%s: %v attempts of another queue", o, n)
		}
	}
	const all = 7 * 8 / 2
	for name, want := range map[string]float64{"heddle_executor_queue_seconds": all, "heddle_executor_run_seconds": all} {
		if n := value(t, r, name, "orders", ""); n != want {
			t.Errorf("%s has %v observations, want %v", name, n, want)
		}
	}
	if n := value(t, r, "heddle_executor_repeated_total", "default", ""); n != 1 {
		t.Errorf("%v repetitions, want 1", n)
	}
}

// value is a counter, or how much a histogram has seen; 0 where there is none.
func value(t *testing.T, r *prometheus.Registry, name, queue, outcome string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == name && labels["queue"] == queue && labels["outcome"] == outcome {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

func BenchmarkObserveAttempt(b *testing.B) {
	m, _ := observed()
	b.ReportAllocs()
	for b.Loop() {
		m.Began("orders", time.Millisecond)
		m.Ended("orders", "completed", time.Millisecond)
	}
}
