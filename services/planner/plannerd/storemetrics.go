package plannerd

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/partition"
)

// storeMetric is one figure of each open store.
type storeMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*partition.StoreFigures) int64
}

func storeGauge(name, help string, value func(*partition.StoreFigures) int64) storeMetric {
	return storeMetric{prometheus.NewDesc(name, help, []string{"partition"}, nil), prometheus.GaugeValue, value}
}

func storeCounter(name, help string, value func(*partition.StoreFigures) int64) storeMetric {
	m := storeGauge(name, help, value)
	m.kind = prometheus.CounterValue
	return m
}

// storeMetrics are the figures of Pebble, and of the journal behind each store. A store has no
// write-ahead log: the journal is that. Counters begin anew when a store is opened.
var storeMetrics = []storeMetric{
	storeGauge("heddle_planner_journal_records", "Records that the journal of a partition keeps, as of its last checkpoint.", func(f *partition.StoreFigures) int64 { return f.Journal }),
	storeGauge("heddle_planner_replay_records", "Of those, what a recovery without the store would replay.", func(f *partition.StoreFigures) int64 { return f.Replay }),
	storeGauge("heddle_planner_store_disk_bytes", "Bytes of the files of a store.", func(f *partition.StoreFigures) int64 { return f.Store.Disk }),
	storeGauge("heddle_planner_store_memtable_bytes", "Bytes of the memtables of a store.", func(f *partition.StoreFigures) int64 { return f.Store.MemTables }),
	storeGauge("heddle_planner_store_tables", "Tables (files of sorted rows) of a store.", func(f *partition.StoreFigures) int64 { return f.Store.Tables }),
	storeGauge("heddle_planner_store_read_amplification", "Tables that the lookup of a row may have to ask.", func(f *partition.StoreFigures) int64 { return int64(f.Store.ReadAmp) }),
	storeGauge("heddle_planner_store_compaction_debt_bytes", "Bytes that compactions of a store have before them, estimated.", func(f *partition.StoreFigures) int64 { return f.Store.Debt }),
	storeCounter("heddle_planner_store_compactions_total", "Compactions of a store.", func(f *partition.StoreFigures) int64 { return f.Store.Compactions }),
	storeCounter("heddle_planner_store_flushed_bytes_total", "Bytes that memtables of a store were written with.", func(f *partition.StoreFigures) int64 { return f.Store.Flushed }),
	storeCounter("heddle_planner_store_compacted_bytes_total", "Bytes that compactions of a store have written.", func(f *partition.StoreFigures) int64 { return f.Store.Compacted }),
	storeCounter("heddle_planner_store_ingested_bytes_total", "Bytes of tables that a store took as they were: those of a restore.", func(f *partition.StoreFigures) int64 { return f.Store.Ingested }),
}

// Figures of the block cache, which the stores of a process share.
var (
	cacheBytes  = prometheus.NewDesc("heddle_planner_block_cache_bytes", "Bytes of the block cache that all stores of the process share.", nil, nil)
	cacheHits   = prometheus.NewDesc("heddle_planner_block_cache_hits_total", "Blocks that were found in the block cache.", nil, nil)
	cacheMisses = prometheus.NewDesc("heddle_planner_block_cache_misses_total", "Blocks that were read from files.", nil, nil)
)

// storeCollector shows them.
type storeCollector struct{ host *partition.Host }

// Describe implements prometheus.Collector.
func (c *storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range storeMetrics {
		ch <- m.desc
	}
	ch <- cacheBytes
	ch <- cacheHits
	ch <- cacheMisses
}

// Collect implements prometheus.Collector.
func (c *storeCollector) Collect(ch chan<- prometheus.Metric) {
	all := c.host.Stores()
	for i := range all {
		for _, m := range storeMetrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value(&all[i])), strconv.Itoa(int(all[i].Partition)))
		}
	}
	if len(all) == 0 {
		return
	}
	shared := all[0].Store // each store says the same of what they share
	ch <- prometheus.MustNewConstMetric(cacheBytes, prometheus.GaugeValue, float64(shared.BlockCache))
	ch <- prometheus.MustNewConstMetric(cacheHits, prometheus.CounterValue, float64(shared.BlockHits))
	ch <- prometheus.MustNewConstMetric(cacheMisses, prometheus.CounterValue, float64(shared.BlockMisses))
}
