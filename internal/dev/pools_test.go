package dev_test

import (
	"context"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/services/planner/pool"
)

// pooled is a map of steps of a queue that runners take from.
const pooled = `{"name": "pooled", "components": {"each": {"map": "input", "do": {"twice": {"step": "images.double", "queue": "images"}}},
	"sum": {"reduce": "each.twice", "init": 0, "with": "acc + item"}}, "options": {"close": "on_idle"}}`

var doubling = task.Define[int, int]("images.double")

// runs has a runner of the pool images run until the returned function is called, which waits for its end.
func runs(t *testing.T, d *dev.Dev, key string, fn func(context.Context, int) (int, error)) (stop func()) {
	t.Helper()
	connected := make(chan struct{}, 16)
	r, err := runner.New(runner.Options{
		URL: d.RunnersURL, Pool: "images", Key: key, Slots: 4, OnConnected: func(string) { connected <- struct{}{} },
		Times: runner.Times{FirstReconnect: 20 * time.Millisecond, Drain: 10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner.Handle(r, doubling, fn)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	select {
	case <-connected:
	case err := <-ended:
		t.Fatalf("the runner has ended: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("the runner does not connect")
	}
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the runner: %v", err)
		}
	}
}

// A queue that is bound to a pool is served by runners, also while the executor that has their sockets, and the planner that has the pool, are
// started again: what runs goes on, and nothing is lost.
func TestRunnersServeAQueueThatIsBoundToTheirPool(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Pools: map[string]pool.Options{"images": {Queues: []string{"images"}}}})
	defer stop(t, d)
	c := connect(t, d)
	if _, err := c.Define(ctx, "pooled", []byte(pooled)); err != nil {
		t.Fatal(err)
	}
	begun, goOn := make(chan int, 64), make(chan struct{})
	double := func(ctx context.Context, n int) (int, error) {
		begun <- n
		select {
		case <-goOn:
			return 2 * n, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	run, err := c.Start(ctx, "pooled", []int{1, 2, 3, 4, 5, 6}, client.StartOptions{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"one", "two"} {
		defer runs(t, d, key, double)()
	}
	for range 6 {
		<-begun
	}
	for _, s := range []dev.Service{dev.Executor, dev.Planner} {
		if err := d.StopService(s); err != nil {
			t.Fatal(err)
		}
		if err := d.StartService(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	if got, err := client.Result[int](ctx, run, "sum"); err != nil || got != 42 {
		t.Fatalf("the sum is %d, %v", got, err)
	}
	if n := len(begun); n > 0 {
		t.Errorf("%d attempts were begun again", n)
	}
}
