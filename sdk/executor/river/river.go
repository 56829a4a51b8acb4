// Package river hands work over to jobs of River (github.com/riverqueue/river), a queue of jobs in PostgreSQL.
//
// The job's kind is the name of the task, and its arguments are {"key": …, "workflow": …, "input": …}. Whoever works the jobs
// declares them so, and records the result:
//
//	type RenderArgs struct {
//		Key      string `json:"key"` // the same if it is worked again: hand it to systems that drop repetitions
//		Workflow string `json:"workflow"`
//		Input    Render `json:"input"`
//	}
//
//	func (RenderArgs) Kind() string { return "jobs.render" }
//
//	func (w *Renderer) Work(ctx context.Context, job *river.Job[RenderArgs]) error {
//		pages, err := render(ctx, job.Args.Input)
//		if err != nil {
//			return err
//		}
//		return river.RecordOutput(ctx, pages)
//	}
//
// A job is unique by its key in all states, so a work that is handed over twice is one job. A finished job is found as long as River keeps
// it: completed and cancelled ones for 24 hours, discarded ones for 7 days, unless the client that cleans up is configured otherwise. Keep them
// longer than an executor may be down.
package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
)

// Types of failures.
const (
	ErrorFailed    = "job_failed"    // the job was discarded: its attempts are used up, or it said so
	ErrorCancelled = "job_cancelled" // somebody has cancelled it
)

// Options say where jobs go.
//
// A client of River that works jobs deletes those that have ended: completed ones after 24 h, cancelled ones after 24 h and
// discarded ones after 7 days, unless its configuration says otherwise (CompletedJobRetentionPeriod and its like). An
// attempt that looks for its work later than that finds none, and hands it over again. So keep jobs longer than all executors
// may be down.
type Options struct {
	Pool   *pgxpool.Pool // of the database that has River's tables; the adapter does not close it
	Schema string        // of the tables; "": the search path of the pool's connections

	Queue    string // of River; "": its "default"
	Priority int    // from 1, which is first, to 4; 0: 1
	// MaxAttempts is how often River tries a job before it has failed; 1. The policy of the step tries again by itself, with
	// another job. A worker of River that is killed uses up an attempt, an hour later (RescueStuckJobsAfter of its client).
	MaxAttempts int
}

// adapter is an executor.Adapter.
type adapter struct {
	client *river.Client[pgx.Tx]
	insert river.InsertOpts
}

// New makes an adapter. It contacts nobody.
func New(o Options) (executor.Adapter, error) {
	if o.Pool == nil {
		return nil, errors.New("river: Options.Pool is nil")
	}
	client, err := river.NewClient(riverpgxv5.New(o.Pool), &river.Config{Schema: o.Schema}) // it only inserts, cancels and reads
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	return &adapter{client: client, insert: river.InsertOpts{
		Queue: o.Queue, Priority: o.Priority, MaxAttempts: max(1, o.MaxAttempts),
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates(), ExcludeKind: true},
	}}, nil
}

// args are a job's arguments.
type args struct {
	kind     string
	Key      string          `json:"key" river:"unique"`
	Workflow string          `json:"workflow"`
	Input    json.RawMessage `json:"input"`
}

// Kind implements river.JobArgs.
func (a args) Kind() string { return a.kind }

// named is what a job's metadata say of its work; they have an index.
type named struct {
	Key string `json:"heddle_key"`
}

// Dispatch implements executor.Adapter.
func (a *adapter) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	metadata, err := json.Marshal(named{w.Key})
	if err != nil {
		return executor.Answer{}, err
	}
	insert := a.insert
	insert.Metadata = metadata
	job, err := a.client.Insert(ctx, args{w.Task, w.Key, task.WorkflowID(ctx), w.Input}, &insert)
	if err != nil {
		return executor.Answer{}, fmt.Errorf("inserting the job: %w", err)
	}
	return executor.Accepted(strconv.FormatInt(job.Job.ID, 10)), nil // the job that is there, where there is one
}

// Cancel implements executor.Adapter. A job that runs is told, and ends when it obeys.
func (a *adapter) Cancel(ctx context.Context, ref executor.Ref) error {
	jobs, err := a.find(ctx, []executor.Ref{ref})
	if err != nil || jobs[0] == nil {
		return err
	}
	if _, err := a.client.JobCancel(ctx, jobs[0].ID); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return fmt.Errorf("cancelling the job %d: %w", jobs[0].ID, err)
	}
	return nil
}

// Recover implements executor.Adapter.
func (a *adapter) Recover(ctx context.Context, refs []executor.Ref) ([]executor.State, error) {
	jobs, err := a.find(ctx, refs)
	if err != nil {
		return nil, err
	}
	states := make([]executor.State, len(refs))
	for i, job := range jobs {
		states[i] = stateOf(job)
	}
	return states, nil
}

// stateOf is how a job is doing; nil is none.
func stateOf(job *rivertype.JobRow) executor.State {
	if job == nil {
		return executor.Unknown()
	}
	switch job.State {
	case rivertype.JobStateCompleted:
		return executor.Completed(job.Output())
	case rivertype.JobStateCancelled:
		return executor.Failed(&task.Error{Type: ErrorCancelled, Message: lastError(job, "the job was cancelled")})
	case rivertype.JobStateDiscarded:
		return executor.Failed(&task.Error{Type: ErrorFailed, Message: lastError(job, "the job was discarded")})
	case rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled:
	}
	return executor.Running()
}

func lastError(job *rivertype.JobRow, none string) string {
	if n := len(job.Errors); n > 0 {
		return job.Errors[n-1].Error
	}
	return none
}
