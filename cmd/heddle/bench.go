package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/heddle-run/heddle/internal/bench"
	"github.com/heddle-run/heddle/internal/dev"
)

// benchCmd measures a deployment: one of its own, or with --brokers any other.
type benchCmd struct {
	Workload    []string      `env:"-" default:"chain10" help:"Shapes to measure: single, chain10, fanout100, accumulate, map10k."`
	Concurrency []int         `env:"-" default:"128" help:"Workflows at a time."`
	Duration    time.Duration `env:"-" default:"10s" help:"Of each measurement, after its warm-up."`
	WarmUp      time.Duration `env:"-" help:"Before each measurement; without it a fifth of the duration, a second at least."`
	Via         string        `env:"-" enum:"kafka,http" default:"kafka" help:"How workflows are started and awaited: ${enum}."`
	Slots       int           `env:"-" help:"Steps at a time; without it by the concurrency."`

	Floor        bool `env:"-" help:"Measure the floor only: the same record flow with empty logic."`
	CompareFloor bool `env:"-" help:"Measure the engine and the floor in three turns of a third of the duration, and print the turn with the middle ratio."`
	Idle         int  `env:"-" placeholder:"N" help:"Start N workflows that become idle, and tell what they cost."`

	Brokers       []string `placeholder:"HOST:PORT" help:"Kafka brokers of the deployment to measure; without it one of its own."`
	URL           string   `name:"url" placeholder:"URL" help:"Gateway of the deployment to measure, for --via http."`
	Prefix        string   `default:"heddle." help:"Prefix of the deployment's topics."`
	Partitions    int32    `env:"-" default:"8" help:"Partitions of the deployment of its own, and of the floor's topics."`
	Memory        bool     `env:"-" help:"Keep the deployment of its own in memory."`
	ArchiveKeep   string   `name:"archive" env:"-" enum:"none,closed,all" default:"none" help:"What the deployment of its own archives, as it is measured: ${enum}."`
	gatewayAccess `group:"Access to the gateway"`
	kafkaSecurity `group:"Access to Kafka"`

	CPUProfile string `env:"-" name:"cpuprofile" placeholder:"FILE" help:"Write a CPU profile of the measurements."`
	MemProfile string `env:"-" name:"memprofile" placeholder:"FILE" help:"Write a heap profile when they are done."`
}

// Run implements the command.
func (c *benchCmd) Run(a *app) (err error) {
	target, stop, err := c.target(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	done, err := profile(c.CPUProfile, c.MemProfile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if c.Idle > 0 {
		return c.idle(a, target)
	}
	return c.measure(a, target)
}

// target is the deployment to measure, and what ends it.
func (c *benchCmd) target(a *app) (bench.Target, func() error, error) {
	if len(c.Brokers) > 0 {
		t := bench.Target{Brokers: c.Brokers, URL: c.URL, Prefix: c.Prefix, Partitions: c.Partitions, Security: c.security()}
		var err error
		if t.APIKey, err = c.key(); err != nil {
			return bench.Target{}, nil, err
		}
		if t.HTTPClient, err = c.client(); err != nil {
			return bench.Target{}, nil, err
		}
		return t, func() error { return nil }, nil
	}
	log := logging{LogLevel: "error"}
	d, err := dev.Start(a, dev.Options{
		NoArchive: c.ArchiveKeep == "none", ArchiveAll: c.ArchiveKeep == "all",
		Memory: c.Memory, Partitions: c.Partitions, Queues: []string{bench.Queue}, Logger: log.logger(a),
	})
	if err != nil {
		return bench.Target{}, nil, err
	}
	t := bench.Target{
		Brokers: d.Brokers, URL: d.URL, Prefix: d.Prefix, Dir: d.Dir, Partitions: c.Partitions, Restart: d.RestartPlanner,
	}
	return t, d.Stop, nil
}

// measure measures every workload at every concurrency.
func (c *benchCmd) measure(a *app, t bench.Target) error {
	if !a.json {
		rows(a.out, [][]string{benchHeading})
	}
	for _, name := range c.Workload {
		workload, err := bench.Find(name)
		if err != nil {
			return usageError("%w", err)
		}
		for _, n := range c.Concurrency {
			f, err := c.one(a, t, bench.Options{
				Workload: workload, Concurrency: n, Duration: c.Duration, WarmUp: c.WarmUp, Via: c.Via, Slots: c.Slots,
			})
			if err != nil {
				return err
			}
			if err := a.printFigure(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *benchCmd) one(a *app, t bench.Target, o bench.Options) (bench.Figure, error) {
	switch {
	case c.Floor:
		return bench.Floor(a, t, o)
	case c.CompareFloor:
		return bench.Compare(a, t, o)
	}
	return bench.Measure(a, t, o)
}

var benchHeading = []string{"WORKLOAD ", "CONCURRENCY", "WORKFLOWS/S", "  STEPS/S", "P50 MS", " P99 MS", "ERRORS", "CPU US/STEP", "BYTES/STEP"}

// printFigure prints a figure as soon as it is there: as one JSON object on a
// line, or as a row.
func (a *app) printFigure(f bench.Figure) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(f)
	}
	fmt.Fprintf(a.out, "%-9s  %11d  %11.0f  %9.0f  %6.2f  %7.2f  %6d  %11.1f  %10.0f\n",
		f.Workload, f.Concurrency, f.WorkflowsPS, f.StepsPS, f.P50, f.P99, f.Errors, f.CPUPerStep, f.BytesPerStep)
	if f.FirstError != "" {
		fmt.Fprintln(a.out, "           the first error: "+shown(f.FirstError))
	}
	if l := f.Floor; l != nil {
		fmt.Fprintf(a.out, "  floor    %12d  %11.0f  %9.0f  %6.2f  %7.2f  %6d  %11.1f\n", l.Concurrency, l.WorkflowsPS, l.StepsPS, l.P50, l.P99, l.Errors, l.CPUPerStep)
		fmt.Fprintf(a.out, "           %.2f of the floor's steps/s, %.1f times its p50, %.1f times its CPU per step\n", f.OfFloor, f.P50OfFloor, f.CPUOfFloor)
	}
	return nil
}

// idle measures idle workflows.
func (c *benchCmd) idle(a *app, t bench.Target) error {
	f, err := bench.Idle(a, t, c.Idle, bench.Options{Via: c.Via}, func(done int) {
		if !a.json {
			fmt.Fprintf(a.err, "\r%d of %d", done, c.Idle)
		}
	})
	if !a.json {
		fmt.Fprint(a.err, "\r")
	}
	if err != nil {
		return err
	}
	return a.print(f, func(w io.Writer) {
		rows(w, [][]string{
			{"idle workflows", strconv.Itoa(f.Workflows)},
			{"started per second", fmt.Sprintf("%.0f", f.StartedPS)},
			{"resident memory", fmt.Sprintf("%d MB (this process with broker, planner, worker and client)", f.RSS>>20)},
			{"live heap", fmt.Sprintf("%d MB", f.HeapLive>>20)},
			{"memory per workflow", fmt.Sprintf("%.0f bytes", f.RSSPerWorkflow)},
			{"disk", fmt.Sprintf("%d MB", f.Disk>>20)},
			{"disk per workflow", fmt.Sprintf("%.0f bytes", f.BytesPerWorkflow)},
			{"planner restarted", fmt.Sprintf("%.0f ms on its stores, %.0f ms restored from the changelog", f.Restart, f.Restore)},
			{"errors", strconv.Itoa(f.Errors)},
		})
	})
}
