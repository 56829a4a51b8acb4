package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/embedded"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/sdk/worker"
)

// A program has its workflows, its tasks and a client of all calls, and nobody else reaches
// anything.
func TestNobodyOutsideReachesARunner(t *testing.T) {
	ctx := within(t)
	before := listeners(t)
	r := open(t, ctx, doubles(embedded.Options{Memory: true}))
	if n := listeners(t); n != before {
		t.Errorf("%d sockets listen, %d before", n, before)
	}
	if _, err := r.Client.Define(ctx, "doubling", []byte(doubling)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Client.Start(ctx, "doubling", 21, client.StartOptions{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	doubled(t, ctx, r, "a", 42)
	if n := listeners(t); n != before {
		t.Errorf("%d sockets listen behind a workflow, %d before", n, before)
	}
	if _, err := r.Client.Readiness(ctx); err != nil {
		t.Errorf("readiness: %v", err)
	}
	if _, err := r.Client.List(ctx, client.Filter{}); err != nil {
		t.Errorf("the list: %v", err)
	}
	for e, err := range r.Client.Run("a").Events(ctx) {
		if err != nil || e.Type == "" {
			t.Errorf("the events: %+v, %v", e, err)
		}
	}
}

// Where an address is given, other programs of this machine reach the API, and no broker.
func TestAnAddressIsServedWhereItIsAsked(t *testing.T) {
	ctx := within(t)
	before := listeners(t)
	open(t, ctx, doubles(embedded.Options{Memory: true, HTTP: "127.0.0.1:0"}))
	if n := listeners(t); n != before+1 {
		t.Errorf("%d sockets listen, %d before", n, before)
	}
}

// What runs at Close goes on at the next Open: a sleep, and an attempt that had to be given up.
func TestWorkflowsGoOnWhereTheyStopped(t *testing.T) {
	ctx := within(t)
	o := doubles(embedded.Options{Dir: t.TempDir()})
	begun, tries := make(chan struct{}), make(chan int, 8)
	hanging := o
	hanging.Worker.DrainLimit = 10 * time.Millisecond
	hanging.Tasks = func(w *worker.Worker) {
		worker.Handle(w, double, func(ctx context.Context, n int) (int, error) {
			close(begun)
			<-ctx.Done()
			return 0, ctx.Err()
		})
	}
	r := open(t, ctx, hanging)
	if _, err := r.Client.Define(ctx, "doubling", []byte(doubling)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Client.Start(ctx, "doubling", 1, client.StartOptions{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	if _, err := r.Client.Start(ctx, "doubling", 2, client.StartOptions{ID: "sleeps"}); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(ctx, o); !errors.Is(err, embedded.ErrInUse) || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("a second one on the same directory: %v", err)
	}
	for range 2 {
		closed(t, r)
	}
	if err := r.Wait(ctx); err != nil {
		t.Errorf("waiting for a closed one: %v", err)
	}
	if _, err := r.Client.Get(ctx, "a"); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("a call of a closed one: %v", err)
	}
	o.Tasks = func(w *worker.Worker) {
		worker.Handle(w, double, func(_ context.Context, n int) (int, error) { tries <- n; return 2 * n, nil })
	}
	r = open(t, ctx, o)
	doubled(t, ctx, r, "a", 2)
	doubled(t, ctx, r, "sleeps", 4)
	if len(tries) != 2 {
		t.Errorf("%d attempts ran, want one of each", len(tries))
	}
}

// A workflow whose task nobody has registered waits, and says for what; once a program
// registers it, it goes on.
func TestATaskThatIsNotRegisteredIsWaitedFor(t *testing.T) {
	ctx := within(t)
	o := doubles(embedded.Options{Dir: t.TempDir()})
	none := o
	none.Tasks = nil
	r := open(t, ctx, none)
	if _, err := r.Client.Start(ctx, doubling, 21, client.StartOptions{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		why, err := r.Client.Explain(ctx, "a", client.PageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(why.Items) == 1 && strings.Contains(why.Items[0].WaitsFor, "none runs shop.double") {
			break
		}
	}
	closed(t, r)
	doubled(t, ctx, open(t, ctx, o), "a", 42)
}

// A panic of a task's function fails the attempt, not the program.
func TestAPanicFailsTheAttempt(t *testing.T) {
	ctx := within(t)
	o := doubles(embedded.Options{Memory: true})
	o.Tasks = func(w *worker.Worker) {
		worker.Handle(w, double, func(context.Context, int) (int, error) { panic("no more") })
	}
	r := open(t, ctx, o)
	run, err := r.Client.Start(ctx, doubling, 21, client.StartOptions{Wait: client.UntilDrained})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Result[int](ctx, run, "twice")
	failed, ok := errors.AsType[*client.FailedError](err)
	if !ok || !strings.Contains(failed.Error(), "no more") {
		t.Errorf("got %v", err)
	}
	if err := r.Wait(canceled()); err != nil {
		t.Errorf("the runner: %v", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A start that is given up leaves nothing behind, whenever that is.
func TestAStartThatIsGivenUpLeavesNothing(t *testing.T) {
	o := doubles(embedded.Options{Dir: t.TempDir()})
	if _, err := embedded.Open(canceled(), o); !errors.Is(err, context.Canceled) {
		t.Errorf("one that nobody waits for: %v", err)
	}
	for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(within(t), after)
		r, err := embedded.Open(ctx, o)
		cancel()
		switch {
		case err == nil: // it was quicker
			closed(t, r)
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("given up after %s: %v", after, err)
		}
	}
	open(t, within(t), o)
}

// A program that takes part in a cluster is the same one: only its options differ.
func TestAProgramMovesToACluster(t *testing.T) {
	ctx := within(t)
	cluster, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 1, Queues: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	for name, o := range map[string]embedded.Options{
		"alone":        {Memory: true},
		"in a cluster": {Worker: worker.Options{Brokers: cluster.Brokers}, Client: client.Options{URL: cluster.URL}},
	} {
		r := open(t, ctx, doubles(o))
		if _, err := r.Client.Start(ctx, doubling, 21, client.StartOptions{ID: "a"}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		doubled(t, ctx, r, "a", 42)
		closed(t, r)
	}
	c, err := client.New(ctx, client.Options{URL: cluster.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if w, err := c.Get(ctx, "a"); err != nil || w.Status != client.StatusCompleted {
		t.Errorf("the cluster has %+v, %v", w, err)
	}
}

func TestWrongOptionsSayWhatIsWrong(t *testing.T) {
	brokers := worker.Options{Brokers: []string{"127.0.0.1:1"}}
	gateway := client.Options{URL: "http://127.0.0.1:1"}
	task := func(w *worker.Worker) {
		worker.Handle(w, double, func(context.Context, int) (int, error) { return 0, nil })
	}
	for want, o := range map[string]embedded.Options{
		"one of Dir, Memory, and a cluster (Worker.Brokers with Client.URL), got 0": {},
		"got 2 of them":                     {Dir: "x", Memory: true},
		"got 3 of them":                     {Dir: "x", Memory: true, Client: gateway},
		"Client.URL: the client":            {Worker: brokers, Tasks: task},
		"Worker.Brokers: the worker":        {Client: gateway, Tasks: task},
		"a cluster has gateways of its own": {Client: gateway, HTTP: "127.0.0.1:0"},
		"a cluster has an archiver":         {Client: gateway, Store: memory.New()},
		"the planners of a cluster are":     {Client: gateway, Pools: map[string]embedded.Pool{"images": {}}},
		"is bound to the pools a and b":     {Memory: true, Pools: map[string]embedded.Pool{"a": {Queues: []string{"q"}}, "b": {Queues: []string{"q"}}}},
		`HTTP is "0.0.0.0:0", want`:         {Memory: true, HTTP: "0.0.0.0:0"},
		`HTTP is "4080", want`:              {Memory: true, HTTP: "4080"},
		"Worker.Prefix says how a cluster":  {Memory: true, Worker: worker.Options{Prefix: "mine."}},
		"Worker.Security says":              {Memory: true, Worker: worker.Options{Security: worker.Security{TLS: true}}},
		"Client.APIKey says":                {Memory: true, Client: client.Options{APIKey: "key"}},
		"Client.HTTPClient says":            {Memory: true, Client: client.Options{HTTPClient: http.DefaultClient}},
		"no task is registered":             {Memory: true, Tasks: func(*worker.Worker) {}},
		"is registered twice":               {Memory: true, Tasks: func(w *worker.Worker) { task(w); task(w) }},
		"Slots is -1":                       {Memory: true, Tasks: task, Worker: worker.Options{Slots: -1}},
	} {
		r, err := embedded.Open(t.Context(), o)
		if !errors.Is(err, embedded.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrOptions that says: %s", err, want)
		}
		if r != nil {
			closed(t, r)
		}
	}
}

// Runs are kept in the program's own store, which outlives the Runner.
func TestRunsAreKeptInTheProgramsStore(t *testing.T) {
	ctx := within(t)
	kept := memory.New()
	defer kept.Close()
	r, err := embedded.Open(ctx, doubles(embedded.Options{Memory: true, Store: kept}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Client.Define(ctx, "doubling", json.RawMessage(doubling)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Client.Start(ctx, "doubling", 4, client.StartOptions{ID: "a", Wait: client.UntilDrained}); err != nil {
		t.Fatal(err)
	}
	for {
		run, err := r.Client.GetArchived(ctx, "a", client.ArchivedOptions{})
		if err == nil && string(run.Results["twice"]) == "8" {
			break
		}
		if !errors.Is(err, client.ErrNotFound) {
			t.Fatalf("the archive has %+v, %v", run, err)
		}
		select {
		case <-ctx.Done():
			t.Fatal("it is not archived")
		case <-time.After(20 * time.Millisecond):
		}
	}
	closed(t, r)
	if page, err := kept.List(ctx, store.Filter{Labels: map[string]string{"status": "completed"}}, ""); err != nil || len(page.Items) != 1 {
		t.Errorf("the store has %+v, %v", page, err)
	}
}
