package readinessd

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/runtime"
)

// metrics of the readiness service, by planner partition.
type metrics struct {
	ready   *prometheus.GaugeVec
	pending *prometheus.GaugeVec
	backlog *prometheus.GaugeVec
	lag     *prometheus.GaugeVec
	archive *prometheus.GaugeVec
	whole   prometheus.Gauge
}

func newMetrics(reg *prometheus.Registry) *metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		ready:   gauge("heddle_readiness_partition_ready", "1 where the partition has a ready owner.", "partition"),
		pending: gauge("heddle_readiness_replay_pending_events", "Records that a new owner has not applied yet.", "partition"),
		backlog: gauge("heddle_readiness_backlog", "Dispatches by state.", "partition", "state"),
		lag:     gauge("heddle_readiness_lag_records", "Records behind the durable cursor of the planner group.", "topic", "partition"),
		archive: gauge("heddle_readiness_archive_lag_records", "Records of the journal behind what archivers have committed.", "partition"),
		whole:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "heddle_readiness_ready", Help: "1 when every partition has a ready owner."}),
	}
	reg.MustRegister(m.ready, m.pending, m.backlog, m.lag, m.archive, m.whole)
	return m
}

// unregister lets another service of the process use the registry.
func (m *metrics) unregister(reg *prometheus.Registry) {
	for _, c := range []prometheus.Collector{m.ready, m.pending, m.backlog, m.lag, m.archive, m.whole} {
		reg.Unregister(c)
	}
}

func (m *metrics) show(a runtime.Aggregate) {
	m.whole.Set(number(a.Ready))
	for _, p := range a.Partitions {
		label := strconv.Itoa(int(p.Partition))
		m.ready.WithLabelValues(label).Set(number(p.Readiness.Ready))
		m.pending.WithLabelValues(label).Set(float64(p.Replay.PendingEvents))
		for state, n := range map[string]uint64{
			"pending": p.Backlog.Pending, "notified": p.Backlog.Notified, "delivered": p.Backlog.Delivered,
			"failed": p.Backlog.Failed, "deferred": p.Backlog.Deferred,
		} {
			m.backlog.WithLabelValues(label, state).Set(float64(n))
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
