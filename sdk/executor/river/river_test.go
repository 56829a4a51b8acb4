package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/heddle-run/heddle/internal/postgrestest"
	"github.com/heddle-run/heddle/sdk/executor"
	adapter "github.com/heddle-run/heddle/sdk/executor/river"
	"github.com/heddle-run/heddle/sdk/executortest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func TestConformance(t *testing.T) { executortest.Run(t, place) }

// place is an empty database with River's tables, and a client of River that works the jobs.
func place(t testing.TB) executortest.Place {
	url := database(t)
	return executortest.Place{
		Open:  func(t testing.TB) executor.Adapter { return open(t, pool(t, url, nil)) },
		World: newWorld(t, pool(t, url, nil)),
		Interrupt: func(t testing.TB, step int, do func(context.Context, executor.Adapter)) bool {
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			w := &postgrestest.Wire{Step: step / 2, Sent: 1 + step%2, Cut: cut}
			p := pool(t, url, w.Configure)
			if err := p.Ping(ctx); err != nil { // how a connection is made is not the adapter's
				t.Fatal(err)
			}
			w.Arm()
			do(ctx, open(t, p))
			return ctx.Err() != nil
		},
	}
}

var (
	once sync.Once
	one  string
)

// database is one for all tests, emptied.
func database(t testing.TB) string {
	t.Helper()
	once.Do(func() {
		one = postgrestest.Database(t)
		m, err := rivermigrate.New(riverpgxv5.New(pool(t, one, nil)), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			_, err = m.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if one == "" {
		one = postgrestest.Database(t) // skips this test as it did the first
	}
	if _, err := pool(t, one, nil).Exec(t.Context(), "TRUNCATE river_job"); err != nil {
		t.Fatal(err)
	}
	return one
}

func pool(t testing.TB, url string, configure func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if configure != nil {
		configure(c)
	}
	p, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func open(t testing.TB, p *pgxpool.Pool) executor.Adapter {
	t.Helper()
	a, err := adapter.New(adapter.Options{Pool: p})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// workArgs are what a worker of River declares.
type workArgs struct {
	Key   string          `json:"key"`
	Input json.RawMessage `json:"input"`
}

func (workArgs) Kind() string { return "kit.work" }

// world works the jobs by a client of River.
type world struct {
	river.WorkerDefaults[workArgs]
	pool *pgxpool.Pool

	mu    sync.Mutex
	begun map[string]int
	input map[string]json.RawMessage
	ends  map[string]chan end
}

type end struct {
	result  json.RawMessage
	failure string
}

func newWorld(t testing.TB, p *pgxpool.Pool) *world {
	t.Helper()
	w := &world{pool: p, begun: map[string]int{}, input: map[string]json.RawMessage{}, ends: map[string]chan end{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	c, err := river.NewClient(riverpgxv5.New(p), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 50}}, Workers: workers, TestOnly: true,
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.StopAndCancel(context.Background()); err != nil {
			t.Errorf("River's client stops with: %v", err)
		}
	})
	return w
}

// Timeout implements river.Worker.
func (w *world) Timeout(*river.Job[workArgs]) time.Duration { return -1 }

// Work implements river.Worker.
func (w *world) Work(ctx context.Context, job *river.Job[workArgs]) error {
	w.mu.Lock()
	w.begun[job.Args.Key]++
	w.input[job.Args.Key] = job.Args.Input
	w.mu.Unlock()
	select {
	case e := <-w.end(job.Args.Key):
		if e.failure != "" {
			return errors.New(e.failure)
		}
		return river.RecordOutput(ctx, e.result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) end(key string) chan end {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ends[key] == nil {
		w.ends[key] = make(chan end, 1)
	}
	return w.ends[key]
}

// Begun implements executortest.World.
func (w *world) Begun(key string) (int, json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun[key], w.input[key]
}

// End implements executortest.World.
func (w *world) End(key string, result json.RawMessage, failure string) {
	w.end(key) <- end{result, failure}
}

// Forget implements executortest.World.
func (w *world) Forget(t testing.TB, key string) {
	if tag, err := w.pool.Exec(t.Context(), "DELETE FROM river_job WHERE args ->> 'key' = $1", key); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d jobs were forgotten: %v", tag.RowsAffected(), err)
	}
}

// A job that River tries again runs until its attempts are used up.
func TestAJobThatIsTriedAgainRuns(t *testing.T) {
	url := database(t)
	p := pool(t, url, nil)
	a, err := adapter.New(adapter.Options{Pool: p, MaxAttempts: 2, Queue: "nobody_works"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.Dispatch(t.Context(), executor.Work{Key: "k", Task: "kit.work", Input: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	ref := executor.Ref{Key: "k", ID: answer.ID}
	for state, want := range map[rivertype.JobState]executor.Phase{
		rivertype.JobStateAvailable: executor.PhaseRunning, rivertype.JobStatePending: executor.PhaseRunning,
		rivertype.JobStateRetryable: executor.PhaseRunning, rivertype.JobStateRunning: executor.PhaseRunning,
		rivertype.JobStateScheduled: executor.PhaseRunning, rivertype.JobStateCompleted: executor.PhaseDone,
		rivertype.JobStateCancelled: executor.PhaseFailed, rivertype.JobStateDiscarded: executor.PhaseFailed,
	} {
		set(t, p, ref.ID, state)
		states, err := a.Recover(t.Context(), []executor.Ref{ref, {Key: "k"}, {Key: "k", ID: "no number"}, {Key: "other", ID: ref.ID}})
		if err != nil {
			t.Fatal(err)
		}
		if states[0].Phase != want || states[1].Phase != want || states[2].Phase != executor.PhaseUnknown || states[3].Phase != executor.PhaseUnknown {
			t.Errorf("%s: %+v", state, states)
		}
	}
}

func set(t *testing.T, p *pgxpool.Pool, id string, state rivertype.JobState) {
	t.Helper()
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Exec(t.Context(), `UPDATE river_job SET state = $2::river_job_state, finalized_at = CASE WHEN $2 IN ('completed', 'cancelled', 'discarded') THEN now() END
		WHERE id = $1`, n, string(state))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
}

func TestAnAdapterNeedsAPool(t *testing.T) {
	if _, err := adapter.New(adapter.Options{}); err == nil {
		t.Error("an adapter without a pool was made")
	}
}
