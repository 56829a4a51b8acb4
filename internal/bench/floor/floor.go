// Package floor measures what the record flow of a workflow costs by itself:
// the records that the engine would write, of the same sizes, over the same
// topics and clients, with empty logic in between. No engine on this broker can
// be faster; the engine's own figures are given as ratios to these.
//
// The flow: a client produces a command; the planner of its partition consumes
// it, appends a record to the journal, and once that is acknowledged produces
// the task; a worker consumes the task and produces the outcome to the inbox;
// the planner appends again, and so on; after the last step it replies, and tells
// the workflow's status to a list view. Once a second it writes the rows that ended
// workflows leave to the changelog. Transactions, consumer groups and leases are
// the engine's own.
package floor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// Workload is a shape of workflow.
type Workload string

const (
	Chain10   Workload = "chain10"   // ten steps, one after the other
	Fanout100 Workload = "fanout100" // a hundred steps at once, and their join
	Single    Workload = "single"    // one step
	Map10k    Workload = "map10k"    // ten thousand steps, of which a thousand are open at a time
)

// Workloads are all of them.
func Workloads() []Workload { return []Workload{Chain10, Fanout100, Single, Map10k} }

// rounds and width: so many rounds of so many parallel steps each.
func (w Workload) shape() (rounds, width int, err error) {
	switch w {
	case Chain10:
		return 10, 1, nil
	case Fanout100:
		return 1, 100, nil
	case Single:
		return 1, 1, nil
	case Map10k:
		return 10, 1000, nil
	}
	return 0, 0, fmt.Errorf("unknown workload %q", w)
}

// Options say what to measure.
type Options struct {
	Brokers     []string
	Security    kafka.Security
	Prefix      string // of the topics; empty: one of its own. Never that of a deployment that runs.
	Workload    Workload
	Concurrency int           // workflows at a time
	Duration    time.Duration // of the measurement, after the warm-up
	WarmUp      time.Duration // zero: a fifth of the duration
	Partitions  int32         // zero: 8
}

// Result is one figure. Its JSON is that of `heddle bench`.
type Result struct {
	Workload    Workload `json:"workload"`
	Concurrency int      `json:"concurrency"`
	WorkflowsPS float64  `json:"workflows_per_s"`
	StepsPS     float64  `json:"steps_per_s"`
	P50Millis   float64  `json:"p50_ms"`
	P99Millis   float64  `json:"p99_ms"`
	Errors      int      `json:"errors"` // always zero: the first fault ends the run as an error
}

const (
	defaultPrefix     = "heddle-floor."
	defaultPartitions = 8

	// queue is the task queue that the floor uses.
	queue = "bench"
)

// Run sets up the topics if need be, runs the flow, and returns the figure. It
// ends with the context at the latest.
func Run(ctx context.Context, o Options) (Result, error) {
	rounds, width, err := o.Workload.shape()
	if err != nil {
		return Result{}, err
	}
	if o.Concurrency < 1 || o.Duration <= 0 {
		return Result{}, fmt.Errorf("floor: want at least one workflow at a time and some duration, got %d and %v", o.Concurrency, o.Duration)
	}
	set, config, err := setUp(ctx, &o)
	if err != nil {
		return Result{}, err
	}
	f := &flow{rounds: rounds, width: width, set: set, faults: make(chan error, 1)}
	defer f.close()
	if err := f.open(config, o.Concurrency); err != nil {
		return Result{}, err
	}
	if err := f.toEnds(ctx, config); err != nil {
		return Result{}, err
	}
	runs, window := f.measure(ctx, o)
	return figure(o, rounds*width, runs, window), f.fault()
}

func setUp(ctx context.Context, o *Options) (*topics.Set, kafka.Config, error) {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.Partitions == 0 {
		o.Partitions = defaultPartitions
	}
	if o.WarmUp == 0 {
		o.WarmUp = o.Duration / 5
	}
	config := kafka.Config{Brokers: o.Brokers, Prefix: o.Prefix, Security: o.Security, ClientID: "heddle-floor"}
	set, err := topics.Default().Set(topics.Options{Prefix: o.Prefix, Partitions: o.Partitions, Queues: []string{queue}})
	if err != nil {
		return nil, config, err
	}
	admin, err := kafka.NewAdmin(config)
	if err != nil {
		return nil, config, err
	}
	defer admin.Close()
	if _, err := set.Apply(ctx, admin); err != nil {
		return nil, config, fmt.Errorf("floor: %w", err)
	}
	return set, config, nil
}

// figure is what the runs that ended within the window say.
func figure(o Options, steps int, runs []time.Duration, window time.Duration) Result {
	r := Result{Workload: o.Workload, Concurrency: o.Concurrency}
	if len(runs) == 0 {
		return r
	}
	slices.Sort(runs)
	r.WorkflowsPS = float64(len(runs)) / window.Seconds()
	r.StepsPS = r.WorkflowsPS * float64(steps)
	r.P50Millis = millis(runs[len(runs)/2])
	r.P99Millis = millis(runs[len(runs)*99/100])
	return r
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
