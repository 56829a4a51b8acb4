package runners

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/shared/frames"
)

// metrics are what a Server tells Prometheus. Labels are bounded: of the pools, which runners name, the first mostPools
// are told apart, and reasons are a closed set.
type metrics struct {
	in, out     prometheus.Counter
	undecodable prometheus.Counter
	stale       prometheus.Counter
	closes      *prometheus.CounterVec
	sockets     *prometheus.GaugeVec
	welcome     prometheus.Histogram
	held        prometheus.GaugeFunc

	mu    sync.Mutex
	pools map[string]bool // that have a label of their own
}

const (
	mostPools = 100
	other     = "other"
)

// reasons are why sockets are closed, as far as they are counted by themselves.
var reasons = func() map[string]bool {
	all := map[string]bool{"by runner": true, "broken": true}
	for _, c := range frames.Closes() {
		all[c.Reason] = true
	}
	return all
}()

func newMetrics(s *Server) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &metrics{
		in: counter("heddle_executor_runner_frames_received_total", "Frames of runners."), out: counter("heddle_executor_runner_frames_sent_total", "Frames to runners."),
		undecodable: counter("heddle_executor_runner_undecodable_frames_total", "Frames of runners that could not be read, and were passed over."),
		stale:       counter("heddle_executor_runner_stale_events_total", "Events of runners that had counted already, or whose token is none."),
		closes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_executor_runner_closes_total", Help: "Sockets of runners that were closed, by reason; ws.eviction is that another one took their place, or an operator."}, []string{"reason"}),
		sockets: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "heddle_executor_runner_sockets", Help: "Sockets of runners that are open, by pool."}, []string{"pool"}),
		welcome: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "heddle_executor_runner_welcome_seconds", Help: "From a runner's first frame to the answer of its pool.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		held: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "heddle_executor_runner_unacknowledged_bytes", Help: "Bytes that runners have reported and Kafka has not acknowledged yet."},
			func() float64 { return float64(s.held.Load()) }),
		pools: map[string]bool{},
	}
}

// label is the label of a pool.
func (m *metrics) label(pool string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.pools[pool] {
		if len(m.pools) >= mostPools {
			return other
		}
		m.pools[pool] = true
	}
	return pool
}

func (m *metrics) opened(pool string) { m.sockets.WithLabelValues(m.label(pool)).Inc() }

func (m *metrics) left(pool string) { m.sockets.WithLabelValues(m.label(pool)).Dec() }

func (m *metrics) closed(reason string) {
	if !reasons[reason] {
		reason = other
	}
	m.closes.WithLabelValues(reason).Inc()
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.in, m.out, m.undecodable, m.stale, m.closes, m.sockets, m.welcome, m.held}
}
