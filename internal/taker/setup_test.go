package taker_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/taker"
	"github.com/heddle-run/heddle/internal/taker/takertest"
)

// handlers are the tasks of a test by name.
type handlers map[string]taker.HandlerFunc

func (h handlers) lookup(task string) (taker.Handler, bool) {
	f, ok := h[task]
	return f, ok
}

func echo(_ context.Context, a *taker.Attempt) (json.RawMessage, error) { return a.Spec.Input, nil }

// until runs until its context ends, and obeys that.
func until(ctx context.Context, _ *taker.Attempt) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// running is a taker of the default queue.
type running struct {
	t      *testing.T
	config taker.Config
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
}

// start runs a taker until the test or stop ends it, and returns when it has
// joined.
func start(t *testing.T, p *takertest.Planner, slots int, h handlers, change ...func(*taker.Config)) *running {
	t.Helper()
	joined := make(chan struct{})
	c := taker.Config{
		Kafka: p.Config, Name: "taker-under-test", Channel: "test", Ready: func() { close(joined) },
		Pools: []taker.Pool{{Queues: []string{topics.DefaultQueue}, Slots: slots, Lookup: h.lookup}},
	}
	if os.Getenv("TAKER_LOG") != "" {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Kafka.Logger = c.Logger
	}
	for _, f := range change {
		f(&c)
	}
	tk, err := taker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, config: c, done: make(chan error, 1)}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() { r.done <- tk.Run(ctx) }()
	<-joined
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("the taker stopped with: %v", err)
		}
	})
	return r
}

// stop drains the taker and returns what Run returned. Later calls do nothing.
func (r *running) stop() (err error) {
	r.once.Do(func() {
		synctest.Wait()
		r.cancel()
		err = <-r.done
	})
	return err
}

// cable is a network that can be cut: for the broker the process is gone.
type cable struct {
	dial  kafka.Dialer
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// through makes a taker use the cable.
func (w *cable) through(c *taker.Config) {
	w.dial = c.Kafka.Dialer
	c.Kafka.Dialer = w.DialContext
}

// DialContext is a kafka.Dialer.
func (w *cable) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errors.New("the cable is cut")
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

func (w *cable) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

// kill severs the cable for good and ends the taker behind it.
func (w *cable) kill(r *running) {
	w.sever()
	go func() {
		if err := r.stop(); err == nil {
			r.t.Error("a taker without a network drained well")
		}
	}()
}

// eachProtocol runs a test with both kinds of consumer groups.
func eachProtocol(t *testing.T, o topics.Options, fn func(t *testing.T, p *takertest.Planner, protocol func(*taker.Config))) {
	t.Helper()
	for name, classic := range map[string]bool{"KIP-848": false, "classic": true} {
		t.Run(name, func(t *testing.T) {
			takertest.InBubble(t, o, func(t *testing.T, p *takertest.Planner) {
				fn(t, p, func(c *taker.Config) { c.Classic = classic })
			})
		})
	}
}
