package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"
)

// dbosDriver runs DBOS Transact for Go: a library in the worker's process that writes
// checkpoints to PostgreSQL, which is the only server process.
type dbosDriver struct {
	postgres *postgres
	pool     *pgxpool.Pool
	dbos     dbos.Context
}

// Workloads implements Driver.
func (d *dbosDriver) Workloads() []string { return []string{"single", "chain10", "fanout100"} }

// Describe implements Driver.
func (d *dbosDriver) Describe() Description {
	return d.postgres.describe(Description{Client: moduleVersion("github.com/dbos-inc/dbos-transact-golang")})
}

// Start implements Driver.
func (d *dbosDriver) Start(ctx context.Context, cfg Config) (err error) {
	if d.postgres, err = startPostgres(ctx, cfg); err != nil {
		return err
	}
	if err := d.postgres.create(ctx, "dbos_bench", ""); err != nil {
		return err
	}
	if err := d.postgres.checkpoint(ctx); err != nil {
		return err
	}
	// 20 connections are DBOS's own default, and as fast as 10 or 60
	if d.pool, err = pgxpool.New(ctx, postgresURL("dbos_bench")+"&pool_max_conns=20"); err != nil {
		return err
	}
	d.dbos, err = dbos.NewContext(context.WithoutCancel(ctx), dbos.Config{
		AppName: "peers", SystemDBPool: d.pool, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	dbos.RegisterWorkflow(d.dbos, dbosChain)
	dbos.RegisterWorkflow(d.dbos, dbosFanOut)
	return dbos.Launch(d.dbos)
}

func dbosChain(ctx dbos.Context, n int) (v int, err error) {
	for range n {
		v, err = dbos.RunAsStep(ctx, func(context.Context) (int, error) { return stepBody(v), nil }, dbos.WithStepName("step"))
		if err != nil {
			return 0, err
		}
	}
	return v, nil
}

func dbosFanOut(ctx dbos.Context, n int) (int, error) {
	steps := make([]<-chan dbos.StepOutcome[int], n)
	for i := range steps {
		var err error
		steps[i], err = dbos.Go(ctx, func(context.Context) (int, error) { return stepBody(0), nil }, dbos.WithStepName("step"))
		if err != nil {
			return 0, err
		}
	}
	sum := 0
	for _, step := range steps {
		outcome := <-step
		if outcome.Err != nil {
			return 0, outcome.Err
		}
		sum += outcome.Result
	}
	return sum, nil
}

// RunWorkflow implements Driver.
func (d *dbosDriver) RunWorkflow(ctx context.Context, name, id string) (int, error) {
	w, err := workload(name)
	if err != nil {
		return 0, err
	}
	f := dbosChain
	if w.FanOut {
		f = dbosFanOut
	}
	handle, err := dbos.RunWorkflow(d.dbos, f, w.Steps, dbos.WithWorkflowID(id))
	if err != nil {
		return 0, err
	}
	// GetResult knows no context
	type result struct {
		v   int
		err error
	}
	results := make(chan result, 1)
	go func() {
		v, err := handle.GetResult()
		results <- result{v, err}
	}()
	select {
	case r := <-results:
		return r.v, r.err
	case <-ctx.Done():
		return 0, fmt.Errorf("workflow %s: %w", id, ctx.Err())
	}
}

// ServerPIDs implements Driver.
func (d *dbosDriver) ServerPIDs() []int { return d.postgres.pids() }

// Disk implements Driver.
func (d *dbosDriver) Disk(ctx context.Context) (DiskUse, error) { return d.postgres.disk(ctx) }

// Stop implements Driver. Workflows that the end of the load interrupted may not end in
// time: that is no failure of the run.
func (d *dbosDriver) Stop() error {
	if d.dbos != nil {
		err := within(15*time.Second, "shut down DBOS", func() error { return dbos.Shutdown(d.dbos, 3*time.Second) })
		if err != nil {
			slog.Warn("DBOS did not stop cleanly", "error", err)
		}
	}
	if d.pool != nil {
		closed := within(5*time.Second, "close the pool of DBOS", func() error { d.pool.Close(); return nil })
		if closed != nil {
			slog.Warn("DBOS did not give back its connections", "error", closed)
		}
	}
	return d.postgres.stop()
}
