package budget

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Cost is what one workload costs. All figures but Disk are per step; each field's
// yaml name is its name in budget.yaml.
type Cost struct {
	Allocations   float64 `yaml:"allocations"`    // objects allocated by the whole process
	AllocatedSize float64 `yaml:"allocated_size"` // bytes allocated by the whole process
	Records       float64 `yaml:"records"`        // Kafka records produced
	RecordBatches float64 `yaml:"record_batches"` // batches that these records came in
	ProducedSize  float64 `yaml:"produced_size"`  // bytes of these batches, compressed as sent
	Produces      float64 `yaml:"produces"`       // produce requests
	Fetches       float64 `yaml:"fetches"`        // fetch requests
	Rows          float64 `yaml:"rows"`           // rows written to the planner's Pebble stores
	RowsSize      float64 `yaml:"rows_size"`      // bytes of the batches with these rows
	Disk          float64 `yaml:"disk"`           // bytes of the data directory, per workflow
}

// figure is one field of a Cost.
type figure struct {
	name      string // with its unit, for messages
	tolerance float64
	value     func(*Cost) *float64
}

// How far a figure may be above its budget. Two runs of one tree, on a busy machine and on
// an idle one, agree within 1 %, but for two that the order of goroutines decides where
// hundreds of records become ready at one moment (fanout100, map10k): how many of them meet
// in a batch or request, and how many short-lived rows are there when a batch is written.
const (
	tolerance         = 0.03
	batchingTolerance = 0.08
	rowsTolerance     = 0.20 // rows_size says the same and is exact: these rows are small
)

var figures = []figure{
	{"allocations per step", tolerance, func(c *Cost) *float64 { return &c.Allocations }},
	{"bytes allocated per step", tolerance, func(c *Cost) *float64 { return &c.AllocatedSize }},
	{"Kafka records per step", tolerance, func(c *Cost) *float64 { return &c.Records }},
	{"record batches per step", batchingTolerance, func(c *Cost) *float64 { return &c.RecordBatches }},
	{"bytes produced per step", tolerance, func(c *Cost) *float64 { return &c.ProducedSize }},
	{"produce requests per step", batchingTolerance, func(c *Cost) *float64 { return &c.Produces }},
	{"fetch requests per step", tolerance, func(c *Cost) *float64 { return &c.Fetches }},
	{"rows written to Pebble per step", rowsTolerance, func(c *Cost) *float64 { return &c.Rows }},
	{"bytes written to Pebble per step", tolerance, func(c *Cost) *float64 { return &c.RowsSize }},
	{"bytes on disk per workflow", tolerance, func(c *Cost) *float64 { return &c.Disk }},
}

// Excess describes each figure that is over its budget by more than its tolerance, or that
// has no budget. It is empty if the cost keeps to the budget.
func (c Cost) Excess(budget Cost) []string {
	var over []string
	for _, f := range figures {
		is, limit := *f.value(&c), *f.value(&budget)
		switch {
		case limit <= 0 && is > 0:
			over = append(over, fmt.Sprintf("%s: %s, and it has no budget", f.name, number(is)))
		case is > limit*(1+f.tolerance):
			over = append(over, fmt.Sprintf("%s: %s, %.1f %% over the budget of %s", f.name, number(is), 100*(is/limit-1), number(limit)))
		}
	}
	return over
}

// median has the median of each figure.
func median(costs []Cost) Cost {
	var m Cost
	for _, f := range figures {
		var values []float64
		for i := range costs {
			values = append(values, *f.value(&costs[i]))
		}
		slices.Sort(values)
		*f.value(&m) = values[len(values)/2]
	}
	return m
}

// per divides a sum over many workflows: by steps, and Disk by workflows.
func (c Cost) per(steps, workflows int) Cost {
	for _, f := range figures {
		*f.value(&c) /= float64(steps)
	}
	c.Disk *= float64(steps) / float64(workflows)
	return c
}

// minus is what was spent between two sums.
func (c Cost) minus(before Cost) Cost {
	for _, f := range figures {
		*f.value(&c) -= *f.value(&before)
	}
	return c
}

// rounded keeps four digits of each figure: budget.yaml is read by people.
func (c Cost) rounded() Cost {
	for _, f := range figures {
		v := f.value(&c)
		if *v > 0 {
			digits := math.Pow(10, 3-math.Floor(math.Log10(*v)))
			*v = math.Round(*v*digits) / digits
		}
	}
	return c
}

func (c Cost) String() string {
	var lines []string
	for _, f := range figures {
		lines = append(lines, fmt.Sprintf("%-34s %s", f.name, number(*f.value(&c))))
	}
	return strings.Join(lines, "\n")
}

// number prints four digits, without an exponent.
func number(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}
