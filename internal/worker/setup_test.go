package worker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
)

// handlers are the tasks of a test by name.
type handlers map[string]worker.HandlerFunc

func (h handlers) lookup(task string) (worker.Handler, bool) {
	f, ok := h[task]
	return f, ok
}

func echo(_ context.Context, a *worker.Attempt) (json.RawMessage, error) { return a.Spec.Input, nil }

// until runs until its context ends, and obeys that.
func until(ctx context.Context, _ *worker.Attempt) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// running is a worker of the default queue.
type running struct {
	t      *testing.T
	config worker.Config
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of Run, once it has ended
	failed bool  // it is meant to fail
}

// start runs a worker until the test or stop ends it, and returns when it has
// joined.
func start(t *testing.T, p *workertest.Planner, slots int, h handlers, change ...func(*worker.Config)) *running {
	t.Helper()
	joined := make(chan struct{})
	c := worker.Config{
		Kafka: p.Config, Name: "worker-under-test", Channel: "test", Ready: func() { close(joined) },
		Pools: []worker.Pool{{Queues: []string{topics.DefaultQueue}, Slots: slots, Lookup: h.lookup, Known: func() []string { return slices.Sorted(maps.Keys(h)) }}},
	}
	if os.Getenv("WORKER_LOG") != "" {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Kafka.Logger = c.Logger
	}
	for _, f := range change {
		f(&c)
	}
	tk, err := worker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, config: c, ended: make(chan struct{})}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() { r.err = tk.Run(ctx); close(r.ended) }()
	<-joined
	t.Cleanup(r.stop)
	return r
}

// stop drains the worker; it must end as it is meant to.
func (r *running) stop() {
	synctest.Wait()
	r.cancel()
	<-r.ended
	if failed := r.err != nil; failed != r.failed {
		r.t.Errorf("the worker stopped with: %v", r.err)
	}
}

// cable is a network that can be cut: for the broker the process is gone.
type cable struct {
	dial  kafka.Dialer
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// through makes a worker use the cable.
func (w *cable) through(c *worker.Config) {
	w.dial = c.Kafka.Dialer
	c.Kafka.Dialer = w.DialContext
}

// DialContext is a kafka.Dialer.
func (w *cable) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	conn, err := w.dial(ctx, network, addr)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

func (w *cable) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *cable) fix() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

// kill severs the cable for good and ends the worker behind it.
func (w *cable) kill(r *running) {
	w.sever()
	r.failed = true
	r.cancel()
}

// eachProtocol runs a test with both kinds of consumer groups.
func eachProtocol(t *testing.T, o topics.Options, fn func(t *testing.T, p *workertest.Planner, protocol func(*worker.Config))) {
	t.Helper()
	for name, classic := range map[string]bool{"KIP-848": false, "classic": true} {
		t.Run(name, func(t *testing.T) {
			workertest.InBubble(t, o, func(t *testing.T, p *workertest.Planner) {
				fn(t, p, func(c *worker.Config) { c.Classic = classic })
			})
		})
	}
}
