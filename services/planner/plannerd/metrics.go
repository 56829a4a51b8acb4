package plannerd

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// metric is one counter of loop.Stats.
type metric struct {
	desc  *prometheus.Desc
	value *atomic.Uint64
	scale float64
}

// collector shows the counters of all partitions of the process, and the state
// of each of them.
type collector struct {
	counters []metric
	state    *prometheus.Desc
	parked   *prometheus.Desc
	stats    *loop.Stats
	claims   *claims
	member   *prometheus.Desc
	unfit    *prometheus.Desc
	attend   *partition.Attendance
}

func newCollector(s *loop.Stats, c *claims, a *partition.Attendance) *collector {
	count := func(name, help string, v *atomic.Uint64) metric {
		return metric{prometheus.NewDesc(name, help, nil, nil), v, 1}
	}
	seconds := func(name, help string, v *atomic.Uint64) metric {
		return metric{prometheus.NewDesc(name, help, nil, nil), v, 1e-9}
	}
	return &collector{
		claims: c,
		stats:  s,
		attend: a,
		member: prometheus.NewDesc("heddle_planner_member",
			"1 while the planner is a member of its group.", nil, nil),
		unfit: prometheus.NewDesc("heddle_planner_unfit",
			"1 for what the planner lacks of its own to serve: clock, disk, store, route.", []string{"need"}, nil),
		parked: prometheus.NewDesc("heddle_planner_effects_parked",
			"Effects that wait, as their log takes nothing for now.", nil, nil),
		state: prometheus.NewDesc("heddle_planner_partition_state",
			"1 for the state that a claimed partition is in.", []string{"partition", "state"}, nil),
		counters: []metric{
			count("heddle_planner_records_appended_total", "Journal records appended.", &s.Appended),
			count("heddle_planner_records_committed_total", "Journal records acknowledged and written to the store.", &s.Committed),
			count("heddle_planner_inputs_dropped_total", "Inputs that changed nothing: stale outcomes, heartbeats.", &s.Dropped),
			count("heddle_planner_inputs_rejected_total", "Inputs that could not be decoded.", &s.Rejected),
			count("heddle_planner_inputs_forwarded_total", "Inputs whose key belongs to another partition.", &s.Forwarded),
			count("heddle_planner_inputs_quarantined_total", "Inputs that met a defect.", &s.Quarantined),
			count("heddle_planner_commands_duplicate_total", "Commands whose id the ledger knew.", &s.Duplicates),
			count("heddle_planner_commands_conflict_total", "Commands with other content under a used id.", &s.Conflicts),
			count("heddle_planner_decisions_oversize_total", "Decisions replaced because they fit no record.", &s.Oversize),
			count("heddle_planner_effects_released_total", "Effects produced.", &s.Released),
			count("heddle_planner_effects_failed_total", "Effects that the broker refused for good.", &s.Failed),
			count("heddle_planner_attempts_lost_total", "Attempts whose worker vanished.", &s.Lost),
			count("heddle_planner_attempts_republished_total", "Task records published again.", &s.Republished),
			count("heddle_planner_queries_total", "Queries answered.", &s.Queries),
			count("heddle_planner_queries_expired_total", "Queries that nobody waited for any more.", &s.Expired),
			count("heddle_planner_timers_total", "Timers fired.", &s.Timers),
			count("heddle_planner_checkpoints_total", "Checkpoints committed.", &s.Checkpoints),
			count("heddle_planner_checkpoint_bytes_total", "Bytes that checkpoints wrote to the changelog.", &s.CheckBytes),
			seconds("heddle_planner_checkpoint_seconds_total", "Time that checkpoints took.", &s.CheckNanos),
			count("heddle_planner_store_saves_total", "Batches written to the stores.", &s.Saves),
			count("heddle_planner_store_save_rows_total", "Rows written and deleted by the batches written to the stores.", &s.SaveRows),
			count("heddle_planner_store_save_bytes_total", "Bytes of the batches written to the stores.", &s.SaveBytes),
			seconds("heddle_planner_store_save_seconds_total", "Time that writing batches to the stores took.", &s.SaveNanos),
			count("heddle_planner_store_loads_total", "Stores that were filled from the changelog.", &s.Loads),
			count("heddle_planner_store_load_bytes_total", "Bytes that filling stores read from the changelog.", &s.LoadBytes),
			seconds("heddle_planner_store_load_seconds_total", "Time that filling stores from the changelog took.", &s.LoadNanos),
			count("heddle_planner_recoveries_total", "Recoveries that ended in ownership.", &s.Recoveries),
			seconds("heddle_planner_recovery_seconds_total", "Time from assignment to ownership.", &s.RecoverNs),
			count("heddle_planner_replayed_records_total", "Journal records replayed by recoveries.", &s.Replayed),
			count("heddle_planner_left_total", "Times that the planner left its group for a reason of its own.", &s.Left),
			count("heddle_planner_changelog_strays_total", "Records of the changelog that no checkpoint has written; they are skipped.", &s.Strays),
			count("heddle_planner_defects_total", "Panics outside of decisions, each of which is in the log with its stack; what they met began anew.", &s.Defects),
			count("heddle_planner_poisoned_total", "Tenures that ended with a failed append.", &s.Poisoned),
		},
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.counters {
		ch <- m.desc
	}
	ch <- c.state
	ch <- c.parked
	ch <- c.member
	ch <- c.unfit
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.counters {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(m.value.Load())*m.scale)
	}
	ch <- prometheus.MustNewConstMetric(c.parked, prometheus.GaugeValue, float64(c.stats.Parked.Load()))
	ch <- prometheus.MustNewConstMetric(c.member, prometheus.GaugeValue, one(c.attend.Member()))
	unfit := c.attend.Unfit()
	for _, need := range partition.Needs {
		ch <- prometheus.MustNewConstMetric(c.unfit, prometheus.GaugeValue, one(unfit != nil && unfit.Need == need), need)
	}
	for _, s := range c.claims.statuses() {
		ch <- prometheus.MustNewConstMetric(c.state, prometheus.GaugeValue, 1, strconv.Itoa(int(s.Partition)), s.State)
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// register adds the metrics and returns how to remove them.
func (s *Planner) register() (func(), error) {
	if s.cfg.Registerer == nil {
		return func() {}, nil
	}
	c := newCollector(&s.stats, s.claims, s.attend)
	all := []prometheus.Collector{c, s.seen, &storeCollector{s.host}, &poolCollector{s.host}}
	unregister := func() {
		for _, m := range all {
			s.cfg.Registerer.Unregister(m)
		}
	}
	for _, m := range all {
		if err := s.cfg.Registerer.Register(m); err != nil {
			unregister()
			return nil, err
		}
	}
	return unregister, nil
}
