package plannerd

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

var (
	poolAttempts = prometheus.NewDesc("heddle_planner_pool_attempts", "Attempts that a pool of runners has, by state: queued, or running.", []string{"pool", "state"}, nil)
	poolRunners  = prometheus.NewDesc("heddle_planner_pool_runners", "Runners of a pool, by state; passed_over are connected ones that get no new work.", []string{"pool", "state"}, nil)
	poolSlots    = prometheus.NewDesc("heddle_planner_pool_slots", "Slots of the connected runners of a pool.", []string{"pool"}, nil)
	poolFree     = prometheus.NewDesc("heddle_planner_pool_free_slots", "Of those, what may be given to an attempt.", []string{"pool"}, nil)
)

// poolCollector shows what the pools of the partitions at hand are at. It tells mostLabels of them apart, and sums
// the others up.
type poolCollector struct{ host *partition.Host }

// Describe implements prometheus.Collector.
func (c *poolCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolAttempts, poolRunners, poolSlots, poolFree} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *poolCollector) Collect(ch chan<- prometheus.Metric) {
	var all []map[string]runtime.PoolBacklog
	for _, figures := range c.host.Stores() {
		all = append(all, figures.Pools)
	}
	pools := boundedPools(all)
	for name, p := range pools { // order: the registry sorts
		show := func(d *prometheus.Desc, n uint64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), append([]string{name}, labels...)...)
		}
		show(poolAttempts, p.Queued, "queued")
		show(poolAttempts, p.Running, "running")
		show(poolRunners, p.Connected-p.PassedOver, "connected")
		show(poolRunners, p.PassedOver, "passed_over")
		show(poolRunners, p.Lost, "lost")
		show(poolRunners, p.Draining, "draining")
		show(poolSlots, p.Slots)
		show(poolFree, p.Free)
	}
}

// boundedPools are the pools of several partitions by their names, whose shards are summed up, of which it has at most mostLabels, the first; the others
// are summed up.
func boundedPools(parts []map[string]runtime.PoolBacklog) map[string]runtime.PoolBacklog {
	every := map[string]runtime.PoolBacklog{}
	for _, part := range parts {
		for name, p := range part { // order: they are summed up
			pool, _ := events.SplitShard(name)
			every[pool] = plus(every[pool], p)
		}
	}
	out := map[string]runtime.PoolBacklog{}
	for i, name := range slices.Sorted(maps.Keys(every)) {
		p := every[name]
		if i >= mostLabels {
			name = otherLabel
		}
		out[name] = plus(out[name], p)
	}
	return out
}

// plus is the sum of two pools, or of two shards of one.
func plus(a, b runtime.PoolBacklog) runtime.PoolBacklog {
	return runtime.PoolBacklog{
		Connected: a.Connected + b.Connected, PassedOver: a.PassedOver + b.PassedOver, Lost: a.Lost + b.Lost, Draining: a.Draining + b.Draining,
		Slots: a.Slots + b.Slots, Free: a.Free + b.Free, Queued: a.Queued + b.Queued, Running: a.Running + b.Running,
	}
}
