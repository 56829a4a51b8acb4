package executor

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/taker"
)

// metrics are what an executor tells Prometheus. Labels are bounded: queues are
// settings, outcomes a closed set; tasks are no label.
type metrics struct {
	attempts *prometheus.CounterVec
	dropped  *prometheus.CounterVec
	waited   *prometheus.HistogramVec
	ran      *prometheus.HistogramVec
	stats    func() []taker.PoolStats
}

var (
	busySlots = prometheus.NewDesc("heddle_executor_slots_busy", "Slots that run an attempt.", []string{"queues"}, nil)
	allSlots  = prometheus.NewDesc("heddle_executor_slots", "Slots.", []string{"queues"}, nil)

	// latencies in seconds, from a trivial step to a long one.
	latencies = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
)

func newMetrics() *metrics {
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latencies}, []string{"queue"})
	}
	return &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_executor_attempts_total", Help: "Attempts that left their slot, by outcome."}, []string{"queue", "outcome"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_executor_repeated_total", Help: "Task records dropped because their token was taken before."}, []string{"queue"}),
		waited: histogram("heddle_executor_queue_seconds", "From the writing of a task record to the start of its attempt."),
		ran:    histogram("heddle_executor_run_seconds", "From the start of an attempt to its end."),
	}
}

// Began implements taker.Observer.
func (m *metrics) Began(queue string, waited time.Duration) {
	m.waited.WithLabelValues(queue).Observe(max(0, waited.Seconds()))
}

// Ended implements taker.Observer.
func (m *metrics) Ended(queue, outcome string, ran time.Duration) {
	m.attempts.WithLabelValues(queue, outcome).Inc()
	m.ran.WithLabelValues(queue).Observe(ran.Seconds())
}

// Dropped implements taker.Observer.
func (m *metrics) Dropped(queue string) { m.dropped.WithLabelValues(queue).Inc() }

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.vectors() {
		c.Describe(ch)
	}
	ch <- busySlots
	ch <- allSlots
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.vectors() {
		c.Collect(ch)
	}
	for _, p := range m.stats() {
		queues := strings.Join(p.Queues, ",")
		ch <- prometheus.MustNewConstMetric(busySlots, prometheus.GaugeValue, float64(p.Busy), queues)
		ch <- prometheus.MustNewConstMetric(allSlots, prometheus.GaugeValue, float64(p.Slots), queues)
	}
}

func (m *metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.dropped, m.waited, m.ran}
}
