package dev_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/services/planner/pool"
)

// cutter opens connections, and cuts all that there are.
type cutter struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.mu.Unlock()
	}
	return conn, err
}

func (c *cutter) cut() (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if conn.Close() == nil {
			count++
		}
	}
	c.conns = nil
	return count
}

// The connections of runners break again and again while a map runs: each element is worked on once.
func TestBrokenSocketsLoseNothing(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Pools: map[string]pool.Options{"images": {Queues: []string{"images"}}}})
	defer stop(t, d)
	c := connect(t, d)
	if _, err := c.Define(ctx, "pooled", []byte(pooled)); err != nil {
		t.Fatal(err)
	}
	var wires cutter
	var begun atomic.Int64
	for _, o := range []runner.Options{{Key: "one"}, {Key: "two", Binary: true}} {
		o.URL, o.Pool, o.Slots, o.Dialer, o.Logger = d.RunnersURL, "images", 4, wires.dial, slog.New(slog.DiscardHandler)
		o.Times = runner.Times{FirstReconnect: 5 * time.Millisecond, LastReconnect: 20 * time.Millisecond, Drain: 10 * time.Second}
		r, err := runner.New(o)
		if err != nil {
			t.Fatal(err)
		}
		runner.Handle(r, doubling, func(_ context.Context, n int) (int, error) {
			begun.Add(1)
			return 2 * n, nil
		})
		running, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- r.Run(running) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the runner %s: %v", o.Key, err)
			}
		}()
	}
	const elements = 400
	input := make([]int, elements)
	for i := range input {
		input[i] = i
	}
	run, err := c.Start(ctx, "pooled", input, client.StartOptions{ID: "cut"})
	if err != nil {
		t.Fatal(err)
	}
	over, cuts := make(chan struct{}), make(chan int)
	go func() {
		count := 0
		for tick := time.NewTicker(30 * time.Millisecond); ; {
			select {
			case <-tick.C:
				count += wires.cut()
			case <-over:
				tick.Stop()
				cuts <- count
				return
			}
		}
	}()
	got, err := client.Result[int](ctx, run, "sum")
	close(over)
	n := <-cuts
	if want := elements * (elements - 1); err != nil || got != want {
		t.Errorf("the sum is %d, %v, want %d", got, err, want)
	}
	if n < 4 || begun.Load() != elements {
		t.Errorf("%d elements were begun %d times while %d connections were cut", elements, begun.Load(), n)
	}
}
