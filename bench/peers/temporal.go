package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	temporalAddr  = "127.0.0.1:7233"
	temporalQueue = "peers"
)

// temporalBackend says which server a temporalDriver runs.
type temporalBackend int

const (
	temporalDev      temporalBackend = iota // the dev server on a SQLite file, with its defaults and those of the SDK
	temporalDevTuned                        // the same with SQLite's WAL, synced, and temporalTuning
	temporalPostgres                        // the production server, all services in a process, on PostgreSQL, with temporalTuning
)

// temporalTuning lifts the server's default rate limits. The most important is
// transferProcessorMaxPollRPS: by default 20 for a shard, so that with few shards each
// hop of a workflow waits for up to 50 ms.
var temporalTuning = map[string]int{
	"history.transferProcessorMaxPollRPS":   100_000,
	"history.timerProcessorMaxPollRPS":      100_000,
	"history.visibilityProcessorMaxPollRPS": 100_000,
	"frontend.rps":                          1_000_000,
	"frontend.namespaceRPS":                 1_000_000,
	"frontend.namespaceRPS.visibility":      1_000_000,
	"frontend.persistenceMaxQPS":            1_000_000,
	"history.rps":                           1_000_000,
	"history.persistenceMaxQPS":             1_000_000,
	"history.hostLevelCacheMaxSize":         8192,
	"matching.rps":                          1_000_000,
	"matching.persistenceMaxQPS":            1_000_000,
	"matching.numTaskqueueReadPartitions":   1,
	"matching.numTaskqueueWritePartitions":  1,
}

// temporalDriver runs Temporal.
type temporalDriver struct {
	backend  temporalBackend
	cfg      Config
	server   *server
	postgres *postgres
	file     string // of SQLite
	client   client.Client
	worker   worker.Worker
}

// Workloads implements Driver.
func (d *temporalDriver) Workloads() []string {
	return []string{"single", "chain10", "fanout100", "chain10-local"}
}

// Describe implements Driver. SQLite syncs each commit, whatever the run asks for.
func (d *temporalDriver) Describe() Description {
	about := Description{Client: moduleVersion("go.temporal.io/sdk"), Durability: SurvivesPower}
	switch d.backend {
	case temporalDev:
		about.Server = "dev server of the Temporal CLI 1.9.1 on SQLite"
	case temporalDevTuned:
		about.Server = "dev server of the Temporal CLI 1.9.1 on SQLite"
		about.Settings = "journal_mode=wal synchronous=full, no rate limits, 32 pollers"
	case temporalPostgres:
		about.Server = "Temporal server 1.32.0 on PostgreSQL " + d.postgres.version
		about.Settings = "16 shards, no rate limits, 32 pollers"
		about = d.postgres.describe(about)
	}
	return about
}

// Start implements Driver.
func (d *temporalDriver) Start(ctx context.Context, cfg Config) error {
	d.cfg = cfg
	if err := checkPortsFree(ctx, temporalAddr); err != nil {
		return err
	}
	start := d.startDev
	if d.backend == temporalPostgres {
		start = d.startOnPostgres
	}
	if err := start(ctx); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	options := worker.Options{
		// never the limit: 512 clients of fanout100 have 51,200 activities open
		MaxConcurrentActivityExecutionSize:      10_000,
		MaxConcurrentLocalActivityExecutionSize: 10_000,
	}
	if d.backend != temporalDev {
		options.MaxConcurrentActivityTaskPollers, options.MaxConcurrentWorkflowTaskPollers = 32, 32
	}
	w := worker.New(d.client, temporalQueue, options)
	w.RegisterWorkflowWithOptions(temporalWorkflow, workflow.RegisterOptions{Name: "workflow"})
	w.RegisterActivity(temporalStep)
	if err := w.Start(); err != nil {
		return err
	}
	d.worker = w
	return nil
}

func (d *temporalDriver) startDev(ctx context.Context) (err error) {
	d.file = filepath.Join(d.cfg.Dir, "temporal.db")
	args := []string{"-db-filename", d.file, "-port", "7233"}
	if d.backend == temporalDevTuned {
		args = append(args, "-sqlite-pragma", "journal_mode=wal", "-sqlite-pragma", "synchronous=full")
		for key, value := range temporalTuning {
			args = append(args, "-dynamic-config-value", fmt.Sprintf("%s=%d", key, value))
		}
	}
	d.server, err = startServer(ctx, d.log(), nil, d.cfg.binary("temporal-dev"), args...)
	return err
}

func (d *temporalDriver) log() string { return filepath.Join(d.cfg.Dir, "server.log") }

// connect waits until the server has its namespace.
func (d *temporalDriver) connect(ctx context.Context) error {
	if err := d.server.waitForPorts(ctx, time.Minute, temporalAddr); err != nil {
		return err
	}
	return retry(ctx, time.Minute, 250*time.Millisecond, func() error {
		if err := d.server.running(); err != nil {
			return fatal{err}
		}
		c, err := client.DialContext(ctx, client.Options{
			HostPort: temporalAddr, Namespace: "default",
			Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		})
		if err != nil {
			return err
		}
		_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
		if err != nil {
			c.Close()
			return err
		}
		d.client = c
		return nil
	})
}

func temporalStep(_ context.Context, v int) (int, error) { return stepBody(v), nil }

func temporalWorkflow(ctx workflow.Context, name string) (int, error) {
	w, err := workload(name)
	if err != nil {
		return 0, err
	}
	const limit = 2 * time.Minute
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: limit})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: limit})
	step := func(v int) workflow.Future { return workflow.ExecuteActivity(ctx, temporalStep, v) }
	if name == "chain10-local" {
		step = func(v int) workflow.Future { return workflow.ExecuteLocalActivity(ctx, temporalStep, v) }
	}
	if !w.FanOut {
		v := 0
		for range w.Steps {
			if err := step(v).Get(ctx, &v); err != nil {
				return 0, err
			}
		}
		return v, nil
	}
	steps := make([]workflow.Future, w.Steps)
	for i := range steps {
		steps[i] = step(0)
	}
	sum := 0
	for _, s := range steps {
		var v int
		if err := s.Get(ctx, &v); err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

// RunWorkflow implements Driver.
func (d *temporalDriver) RunWorkflow(ctx context.Context, workload, id string) (int, error) {
	run, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: temporalQueue}, "workflow", workload)
	if err != nil {
		return 0, err
	}
	var v int
	err = run.Get(ctx, &v)
	return v, err
}

// ServerPIDs implements Driver.
func (d *temporalDriver) ServerPIDs() []int { return append(d.server.pids(), d.postgres.pids()...) }

// Disk implements Driver.
func (d *temporalDriver) Disk(ctx context.Context) (DiskUse, error) {
	if d.postgres != nil {
		return d.postgres.disk(ctx)
	}
	return sqliteUse(d.file)
}

// Stop implements Driver. A worker may wait for its last long polls: that is no failure of the run.
func (d *temporalDriver) Stop() error {
	if d.worker != nil {
		stop := func() error { d.worker.Stop(); return nil }
		if err := within(10*time.Second, "stop the worker", stop); err != nil {
			slog.Warn("Temporal's worker did not stop cleanly", "error", err)
		}
	}
	if d.client != nil {
		d.client.Close()
	}
	return errors.Join(d.server.stop(15*time.Second), d.postgres.stop())
}
