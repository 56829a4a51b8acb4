package archiver

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
)

// metrics are an archiver's.
type metrics struct {
	lagRecords, waitingRuns, waitingBytes *prometheus.GaugeVec
	archived, entries, failures           prometheus.Counter
	lost, strange, unfolded               prometheus.Counter
	seconds, sizes                        *prometheus.HistogramVec
	errors                                *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"partition"})
	}
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		lagRecords:   gauge("heddle_archiver_lag_records", "Records of the journal that the archive may lack, by partition."),
		waitingRuns:  gauge("heddle_archiver_waiting_runs", "Runs with records that are read and not written yet, by partition."),
		waitingBytes: gauge("heddle_archiver_waiting_bytes", "Bytes of these records, by partition."),
		archived:     count("heddle_archiver_runs_total", "Runs whose planners were told that they are archived."),
		entries:      count("heddle_archiver_entries_total", "Records of runs that were written to the store."),
		failures:     count("heddle_archiver_failures_total", "Times that a partition's archiving failed and began anew."),
		lost:         count("heddle_archiver_lost_records_total", "Records that were gone from the journal before they were archived."),
		strange:      count("heddle_archiver_strange_records_total", "Runs without a beginning that their planners did not know any more: they are not archived."),
		unfolded:     count("heddle_archiver_unfolded_total", "Runs that are archived though their entries could not be folded."),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "heddle_archiver_store_seconds", Help: "How long the store took, by operation; checkpoint says how far a partition is archived.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}, []string{"operation"}),
		sizes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "heddle_archiver_store_bytes", Help: "Bytes that an operation wrote or read.",
			Buckets: prometheus.ExponentialBuckets(256, 8, 7),
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "heddle_archiver_store_errors_total", Help: "Operations of the store that failed, conflicts and fences left out.",
		}, []string{"operation"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range m.all() {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.lagRecords, m.waitingRuns, m.waitingBytes, m.archived, m.entries, m.failures, m.lost, m.strange, m.unfolded, m.seconds, m.sizes, m.errors}
}

func (m *metrics) unregister(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	for _, c := range m.all() {
		reg.Unregister(c)
	}
}

func (m *metrics) pending(partition int32, k *archive.Keeper) {
	runs, bytes := k.Pending()
	p := strconv.Itoa(int(partition))
	m.waitingRuns.WithLabelValues(p).Set(float64(runs))
	m.waitingBytes.WithLabelValues(p).Set(float64(bytes))
}

func (m *metrics) behind(partition int32, records int64) {
	m.lagRecords.WithLabelValues(strconv.Itoa(int(partition))).Set(float64(max(0, records)))
}

// gone drops what was shown of a partition that is another archiver's.
func (m *metrics) gone(partition int32) {
	p := strconv.Itoa(int(partition))
	for _, g := range []*prometheus.GaugeVec{m.lagRecords, m.waitingRuns, m.waitingBytes} {
		g.DeleteLabelValues(p)
	}
}

// metered is a store that is measured.
type metered struct {
	store.Store
	m *metrics
}

// measure measures an operation of a store.
func (s *metered) measure(operation string, bytes func() int, do func() error) error {
	began := time.Now()
	err := do()
	s.m.seconds.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	var conflict *store.Conflict
	var fenced *store.Fenced
	switch {
	case err == nil:
		s.m.sizes.WithLabelValues(operation).Observe(float64(bytes()))
	case !errors.As(err, &conflict) && !errors.As(err, &fenced) && !errors.Is(err, context.Canceled):
		s.m.errors.WithLabelValues(operation).Inc()
	}
	return err
}

func sizeOf(entries [][]byte) (n int) {
	for _, e := range entries {
		n += len(e)
	}
	return n
}

// Append implements store.Store.
func (s *metered) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	return s.measure("append", func() int { return sizeOf(entries) }, func() error { return s.Store.Append(ctx, id, at, epoch, entries) })
}

// Load implements store.Store.
func (s *metered) Load(ctx context.Context, id string, from uint64) (log store.Log, err error) {
	err = s.measure("load", func() int { return sizeOf(log.Entries) }, func() error { log, err = s.Store.Load(ctx, id, from); return err })
	return log, err
}

// SaveSnapshot implements store.Store.
func (s *metered) SaveSnapshot(ctx context.Context, id string, epoch uint64, snap store.Snapshot) error {
	operation := "save"
	if archive.IsPlace(id) {
		operation = "checkpoint"
	}
	return s.measure(operation, func() int { return len(snap.Data) }, func() error { return s.Store.SaveSnapshot(ctx, id, epoch, snap) })
}

// LoadSnapshot implements store.Store.
func (s *metered) LoadSnapshot(ctx context.Context, id string) (snap store.Snapshot, ok bool, err error) {
	err = s.measure("load_snapshot", func() int { return len(snap.Data) }, func() error { snap, ok, err = s.Store.LoadSnapshot(ctx, id); return err })
	return snap, ok, err
}

// List implements store.Store.
func (s *metered) List(ctx context.Context, f store.Filter, cursor string) (page store.Page, err error) {
	err = s.measure("list", func() int { return 0 }, func() error { page, err = s.Store.List(ctx, f, cursor); return err })
	return page, err
}
