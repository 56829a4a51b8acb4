package gateway

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the gateway. Labels are routes and statuses: both are bounded.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refused  *prometheus.CounterVec
	all      []prometheus.Collector
}

func newMetrics(g *Gateway) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_gateway_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "heddle_gateway_request_seconds", Help: "Time to answer, waiting included, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "heddle_gateway_requests_in_flight", Help: "Requests being served.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_gateway_problems_total", Help: "Requests answered with a problem, by its code.",
		}, []string{"code"}),
	}
	m.all = []prometheus.Collector{m.requests, m.seconds, m.inFlight, m.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "heddle_gateway_replies_waiting", Help: "Questions that wait for a planner's reply.",
		}, func() float64 { return float64(g.requests.Waiting()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "heddle_gateway_event_streams", Help: "Open event streams.",
		}, func() float64 { return float64(len(g.watchers)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "heddle_gateway_tunnels", Help: "Open requests and WebSockets to attempts at runners.",
		}, func() float64 { return float64(g.calls.Number()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "heddle_gateway_view_records_total", Help: "Status records that the list view has taken.",
		}, func() float64 { return float64(g.view.Taken()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "heddle_gateway_definition_bytes", Help: "Size of all registered definitions.",
		}, func() float64 { return float64(g.book.Bytes()) }),
	}
	g.cfg.Registry.MustRegister(m.all...)
	return m
}

// unregister lets another gateway of the process use the registry.
func (m *metrics) unregister(reg *prometheus.Registry) {
	for _, c := range m.all {
		reg.Unregister(c)
	}
}

func (m *metrics) answered(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
