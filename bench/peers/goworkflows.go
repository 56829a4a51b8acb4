package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

// goWorkflowsDriver runs cschleiden/go-workflows, a library, on its SQLite backend in
// this process: the server has no CPU time and no memory of its own. The client's wait
// for a result polls with a pause that grows from 1 ms to 1 s and cannot be set.
type goWorkflowsDriver struct {
	file    string
	backend closableBackend
	client  *client.Client
	worker  *worker.Worker
	cancel  context.CancelFunc
}

type closableBackend interface {
	backend.Backend
	Close() error
}

// Workloads implements Driver.
func (d *goWorkflowsDriver) Workloads() []string { return []string{"single", "chain10", "fanout100"} }

// Describe implements Driver. SQLite is as the library opens it: a rollback journal, and
// an fsync with each commit.
func (d *goWorkflowsDriver) Describe() Description {
	return Description{
		Server: "none, SQLite in the worker's process", Client: moduleVersion("github.com/cschleiden/go-workflows"),
		Durability: SurvivesPower, Settings: "polling every 1 ms instead of 200 ms",
	}
}

// Start implements Driver.
func (d *goWorkflowsDriver) Start(ctx context.Context, cfg Config) error {
	d.file = filepath.Join(cfg.Dir, "workflows.db")
	d.backend = sqlite.NewSqliteBackend(d.file, sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler))))
	d.client = client.New(d.backend)
	options := worker.DefaultOptions
	options.WorkflowPollingInterval, options.ActivityPollingInterval = time.Millisecond, time.Millisecond
	options.WorkflowExecutorCacheSize = 2048
	d.worker = worker.New(d.backend, &options)
	if err := d.worker.RegisterWorkflow(goWorkflow); err != nil {
		return err
	}
	if err := d.worker.RegisterActivity(goWorkflowStep); err != nil {
		return err
	}
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return d.worker.Start(ctx)
}

func goWorkflowStep(_ context.Context, v int) (int, error) { return stepBody(v), nil }

func goWorkflow(ctx workflow.Context, w Workload) (int, error) {
	step := func(v int) workflow.Future[int] {
		return workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, goWorkflowStep, v)
	}
	if !w.FanOut {
		v := 0
		for range w.Steps {
			var err error
			if v, err = step(v).Get(ctx); err != nil {
				return 0, err
			}
		}
		return v, nil
	}
	steps := make([]workflow.Future[int], w.Steps)
	for i := range steps {
		steps[i] = step(0)
	}
	sum := 0
	for _, s := range steps {
		v, err := s.Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

// RunWorkflow implements Driver.
func (d *goWorkflowsDriver) RunWorkflow(ctx context.Context, name, id string) (int, error) {
	w, err := workload(name)
	if err != nil {
		return 0, err
	}
	w.Note = "" // an input as small as that of the other engines
	run, err := d.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, goWorkflow, w)
	if err != nil {
		return 0, err
	}
	return client.GetWorkflowResult[int](ctx, d.client, run, workflowTimeout)
}

// ServerPIDs implements Driver.
func (d *goWorkflowsDriver) ServerPIDs() []int { return nil }

// Disk implements Driver.
func (d *goWorkflowsDriver) Disk(context.Context) (DiskUse, error) { return sqliteUse(d.file) }

// Stop implements Driver.
func (d *goWorkflowsDriver) Stop() error {
	var err error
	if d.cancel != nil {
		d.cancel()
		err = within(10*time.Second, "stop the worker", d.worker.WaitForCompletion)
	}
	if d.backend != nil {
		err = errors.Join(err, d.backend.Close())
	}
	return err
}
