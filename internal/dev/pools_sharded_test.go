package dev_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/services/planner/pool"
)

// shardedPool is a deployment whose pool has some shards, and a number of them that changes.
type shardedPool struct {
	t    *testing.T
	d    *dev.Dev
	c    *client.Client
	opts map[string]pool.Options
}

// resize starts the planner again with another number of shards.
func (p *shardedPool) resize(n int) {
	p.t.Helper()
	if err := p.d.StopService(dev.Planner); err != nil {
		p.t.Fatal(err)
	}
	p.opts["images"] = pool.Options{Queues: []string{"images"}, Shards: n}
	if err := p.d.StartService(p.t.Context(), dev.Planner); err != nil {
		p.t.Fatal(err)
	}
}

// starts starts a workflow that doubles so many numbers, the first of them of a value.
func (p *shardedPool) starts(id string, first, count int) (sum int) {
	p.t.Helper()
	input := make([]int, count)
	for i := range input {
		input[i] = first + i
		sum += 2 * input[i]
	}
	if _, err := p.c.Start(p.t.Context(), "pooled", input, client.StartOptions{ID: id}); err != nil {
		p.t.Fatal(err)
	}
	return sum
}

func (p *shardedPool) ends(ctx context.Context, id string, sum int) {
	p.t.Helper()
	if got, err := client.Result[int](ctx, p.c.Run(id), "sum"); err != nil || got != sum {
		p.t.Fatalf("the sum of %s is %d, %v, want %d", id, got, err, sum)
	}
}

// runs has a runner run until the returned function kills it, which leaves nothing of it but what it has said.
func (p *shardedPool) runs(ctx context.Context, key string, fn func(context.Context, int) (int, error)) (kill func()) {
	p.t.Helper()
	wires, dead := cutter{}, atomic.Bool{}
	r, err := runner.New(runner.Options{
		URL: p.d.RunnersURL, Pool: "images", Key: key, Slots: 4,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dead.Load() {
				return nil, errors.New("it is dead")
			}
			return wires.dial(ctx, network, addr)
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	runner.Handle(r, doubling, fn)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() {
		dead.Store(true)
		wires.cut()
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, runner.ErrEvicted) { // an operator may have stopped it
			p.t.Errorf("the runner %s: %v", key, err)
		}
	}
}

// counter doubles numbers, and counts how often it does each. Those from held on it holds until they may go on.
type counter struct {
	mu    sync.Mutex
	times map[int]int
	begun chan int
	goOn  chan struct{}
}

const held = 1000

func newCounter() *counter {
	return &counter{times: map[int]int{}, begun: make(chan int, 1000), goOn: make(chan struct{})}
}

func (k *counter) double(ctx context.Context, n int) (int, error) {
	k.mu.Lock()
	k.times[n]++
	k.mu.Unlock()
	if n >= held {
		k.begun <- n
		select {
		case <-k.goOn:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return 2 * n, nil
}

func newShardedPool(ctx context.Context, t *testing.T, shards int) *shardedPool {
	t.Helper()
	opts := map[string]pool.Options{"images": {Queues: []string{"images"}, Shards: shards}}
	d := start(t, ctx, dev.Options{Partitions: 4, Memory: true, Pools: opts})
	t.Cleanup(func() { stop(t, d) })
	p := &shardedPool{t: t, d: d, c: connect(t, d), opts: opts}
	if _, err := p.c.Define(ctx, "pooled", []byte(pooled)); err != nil {
		t.Fatal(err)
	}
	return p
}

// The number of shards of a pool changes from 1 to 4 and back while work runs and waits, and it has fewer runners than shards: each element
// is worked on once, and all workflows end.
func TestAPoolIsSpreadOverShardsAndGatheredAgain(t *testing.T) {
	ctx := within(t)
	p, k := newShardedPool(ctx, t, 1), newCounter()
	for _, key := range []string{"one", "two"} {
		defer p.runs(ctx, key, k.double)()
	}
	a := p.starts("a", held, 8)
	for range 8 {
		<-k.begun
	}
	b := p.starts("b", 0, 50)
	p.resize(4)
	close(k.goOn)
	p.ends(ctx, "a", a)
	p.ends(ctx, "b", b)
	if obeyed, err := p.c.StopRunner(ctx, "images", "two", client.StopRunnerOptions{By: client.By{Who: "ann", Why: "a test"}}); err != nil || !obeyed {
		t.Errorf("the runner is stopped: %t, %v", obeyed, err)
	}
	p.ends(ctx, "c", p.starts("c", 100, 100)) // by one runner, which is in one of the four shards
	if is, err := p.c.Pool(ctx, "images", client.PoolOptions{}); err != nil || is.Shards != 4 || is.Connected != 1 || is.Slots != 4 {
		t.Errorf("the pool is %+v, %v", is, err)
	}
	if all, err := p.c.Runners(ctx, client.RunnerFilter{Pool: "images"}); err != nil || len(all.Items) < 2 {
		t.Errorf("its runners are %+v, %v", all, err)
	}
	if obeyed, err := p.c.StopRunner(ctx, "images", "one", client.StopRunnerOptions{By: client.By{Who: "ann", Why: "a test"}}); err != nil || !obeyed {
		t.Errorf("the runner is stopped: %t, %v", obeyed, err)
	}
	e := p.starts("e", 500, 50) // waits in all shards
	p.resize(1)
	defer p.runs(ctx, "five", k.double)()
	p.ends(ctx, "e", e)
	k.mu.Lock()
	defer k.mu.Unlock()
	for n, count := range k.times {
		if count != 1 {
			t.Errorf("%d was doubled %d times", n, count)
		}
	}
}

// Runners of a pool with shards are killed at work, and started again under their keys: what they had is run again at once.
func TestRunnersOfAPoolWithShardsAreKilled(t *testing.T) {
	ctx := within(t)
	p, k := newShardedPool(ctx, t, 4), newCounter()
	keys := []string{"one", "two", "three"}
	kills := map[string]func(){}
	for _, key := range keys {
		kills[key] = p.runs(ctx, key, k.double)
	}
	sum := p.starts("a", held, 30)
	for range 12 { // all slots, wherever they are
		<-k.begun
	}
	for _, key := range keys {
		kills[key]()
		defer p.runs(ctx, key, k.double)()
	}
	close(k.goOn)
	p.ends(ctx, "a", sum)
}
