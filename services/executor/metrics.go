package executor

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// metrics are what an executor tells Prometheus. Labels are bounded: queues are
// settings, outcomes a closed set; tasks are no label.
type metrics struct {
	attempts *prometheus.CounterVec
	dropped  *prometheus.CounterVec
	waited   *prometheus.HistogramVec
	ran      *prometheus.HistogramVec
	queues   map[string]queueMetrics // read only
	stats    func() []worker.PoolStats
}

// queueMetrics are those of one queue: an attempt looks no labels up.
type queueMetrics struct {
	attempts    map[string]prometheus.Counter // by outcome
	dropped     prometheus.Counter
	waited, ran prometheus.Observer
}

// outcomes are what worker.Observer is told.
var outcomes = []string{
	"pending", events.OutcomeCompleted.String(), events.OutcomeFailed.String(), events.OutcomeTimedOut.String(),
	events.OutcomeCancelled.String(), events.OutcomeUnknownTask.String(), events.OutcomeAbandoned.String(),
}

var (
	busySlots = prometheus.NewDesc("heddle_executor_slots_busy", "Slots that run an attempt.", []string{"queues"}, nil)
	allSlots  = prometheus.NewDesc("heddle_executor_slots", "Slots.", []string{"queues"}, nil)

	// latencies in seconds, from a trivial step to a long one.
	latencies = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
)

func newMetrics(pools []worker.Pool) *metrics {
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latencies}, []string{"queue"})
	}
	m := &metrics{
		queues: map[string]queueMetrics{},
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_executor_attempts_total", Help: "Attempts that left their slot, by outcome."}, []string{"queue", "outcome"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_executor_repeated_total", Help: "Task records dropped because their token was taken before."}, []string{"queue"}),
		waited: histogram("heddle_executor_queue_seconds", "From the writing of a task record to the start of its attempt."),
		ran:    histogram("heddle_executor_run_seconds", "From the start of an attempt to its end."),
	}
	for _, p := range pools {
		for _, queue := range p.Queues {
			m.queues[queue] = m.of(queue)
		}
	}
	return m
}

func (m *metrics) of(queue string) queueMetrics {
	q := queueMetrics{
		attempts: map[string]prometheus.Counter{}, dropped: m.dropped.WithLabelValues(queue),
		waited: m.waited.WithLabelValues(queue), ran: m.ran.WithLabelValues(queue),
	}
	for _, o := range outcomes {
		q.attempts[o] = m.attempts.WithLabelValues(queue, o)
	}
	return q
}

// Began implements worker.Observer.
func (m *metrics) Began(queue string, waited time.Duration) {
	m.queues[queue].waited.Observe(max(0, waited.Seconds()))
}

// Ended implements worker.Observer.
func (m *metrics) Ended(queue, outcome string, ran time.Duration) {
	q := m.queues[queue]
	q.attempts[outcome].Inc()
	q.ran.Observe(ran.Seconds())
}

// Dropped implements worker.Observer.
func (m *metrics) Dropped(queue string) { m.queues[queue].dropped.Inc() }

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
