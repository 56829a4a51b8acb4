package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverDriver runs River, a queue of jobs in PostgreSQL and no workflow engine: a chain
// is ten jobs, of which each inserts the next and completes itself in one transaction.
// The load generator learns of the end in this process, after the last job's commit.
// There is no fan-out, because the open-source River has no joins.
type riverDriver struct {
	postgres *postgres
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
	results  sync.Map // chan int by the id of the chain
}

// riverChain is a job: one step of a chain.
type riverChain struct {
	ID    string `json:"id"`
	Value int    `json:"v"`
	Left  int    `json:"left"` // steps, this one included
}

// Kind implements river.JobArgs.
func (riverChain) Kind() string { return "chain" }

type riverWorker struct {
	river.WorkerDefaults[riverChain]
	driver *riverDriver
}

// Work implements river.Worker.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[riverChain]) error {
	step := job.Args
	v := stepBody(step.Value)
	err := pgx.BeginFunc(ctx, w.driver.pool, func(tx pgx.Tx) error {
		if step.Left > 1 {
			next := riverChain{ID: step.ID, Value: v, Left: step.Left - 1}
			if _, err := w.driver.client.InsertTx(ctx, tx, next, nil); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err != nil || step.Left > 1 {
		return err
	}
	if result, ok := w.driver.results.LoadAndDelete(step.ID); ok {
		result.(chan int) <- v
	}
	return nil
}

// Workloads implements Driver.
func (d *riverDriver) Workloads() []string { return []string{"single", "chain10"} }

// Describe implements Driver.
func (d *riverDriver) Describe() Description {
	return d.postgres.describe(Description{
		Client:   moduleVersion("github.com/riverqueue/river") + ", a queue of jobs, no workflow engine",
		Settings: "MaxWorkers=200 FetchCooldown=1ms FetchPollInterval=10ms",
	})
}

// Start implements Driver. River's own pauses between fetches (100 ms, and 1 s where a
// notification is missed) would be all that a lone chain measures.
func (d *riverDriver) Start(ctx context.Context, cfg Config) (err error) {
	if d.postgres, err = startPostgres(ctx, cfg); err != nil {
		return err
	}
	if err := d.postgres.create(ctx, "river_bench", ""); err != nil {
		return err
	}
	if d.pool, err = pgxpool.New(ctx, postgresURL("river_bench")+"&pool_max_conns=60"); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(d.pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	if err := d.postgres.checkpoint(ctx); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{driver: d})
	d.client, err = river.NewClient(riverpgxv5.New(d.pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 200}},
		Workers:           workers,
		FetchCooldown:     time.Millisecond,
		FetchPollInterval: 10 * time.Millisecond,
		Logger:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return d.client.Start(context.WithoutCancel(ctx))
}

// RunWorkflow implements Driver.
func (d *riverDriver) RunWorkflow(ctx context.Context, name, id string) (int, error) {
	w, err := workload(name)
	if err != nil {
		return 0, err
	}
	result := make(chan int, 1)
	d.results.Store(id, result)
	defer d.results.Delete(id)
	if _, err := d.client.Insert(ctx, riverChain{ID: id, Left: w.Steps}, nil); err != nil {
		return 0, err
	}
	select {
	case v := <-result:
		return v, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// ServerPIDs implements Driver.
func (d *riverDriver) ServerPIDs() []int { return d.postgres.pids() }

// Disk implements Driver.
func (d *riverDriver) Disk(ctx context.Context) (DiskUse, error) { return d.postgres.disk(ctx) }

// Stop implements Driver.
func (d *riverDriver) Stop() error {
	var err error
	if d.client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = d.client.StopAndCancel(ctx)
	}
	if d.pool != nil {
		d.pool.Close()
	}
	return errors.Join(err, d.postgres.stop())
}
