package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/services/gateway/calls"
	"github.com/heddle-run/heddle/services/gateway/view"
)

const (
	// source is the ce_source of commands: with an Idempotency-Key and the
	// workflow it is what a repetition is known by.
	source = "gateway"

	// openTimeout bounds what has to be read before the gateway serves.
	openTimeout = time.Minute

	// stopGrace is how long requests may finish when the gateway stops.
	stopGrace = 10 * time.Second
)

// Gateway serves HTTP. Close it.
type Gateway struct {
	cfg    Config
	limits Limits
	logger *slog.Logger
	names  topics.Names

	admin    *kgo.Client
	out      *kgo.Client // nil: there is no archive to restore from
	requests *request.Client
	calls    *calls.Calls // to attempts at runners
	book     *definitions.Book
	follow   *follower
	view     *view.View
	queues   *definitions.Queues
	workers  *workers
	health   service.Health
	metrics  *metrics
	mux      *chi.Mux
	handler  http.Handler

	closed   atomic.Bool
	ending   sync.Once
	stopping chan struct{} // closed when event streams are to end
	watchers chan struct{} // a place for each event stream
}

// Open connects to Kafka, checks the topics, and reads what is needed to serve.
func Open(ctx context.Context, cfg Config) (_ *Gateway, err error) {
	names, err := cfg.Kafka.Names()
	if err != nil {
		return nil, err
	}
	if err := cfg.NotReady.check(); err != nil {
		return nil, err
	}
	g := &Gateway{
		cfg: cfg, limits: cfg.Limits.withDefaults(), logger: cfg.Logger, names: names, stopping: make(chan struct{}),
	}
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	if g.cfg.Registry == nil {
		g.cfg.Registry = prometheus.NewRegistry()
	}
	g.watchers = make(chan struct{}, g.limits.Watchers)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closeClients())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := g.connect(ctx); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.metrics = newMetrics(g)
	g.health.Ready("kafka", g.requests.Ping)
	g.health.Live("view", g.view.Alive)
	g.mux = g.router()
	g.handler = g.limited(g.guarded(g.mux))
	return g, nil
}

func (g *Gateway) connect(ctx context.Context) (err error) {
	if g.admin, err = kafka.NewAdmin(g.cfg.Kafka); err != nil {
		return err
	}
	set, err := topics.Default().Discover(ctx, g.admin, g.names.Prefix())
	if err != nil {
		return err
	}
	if _, err := set.CheckToRun(ctx, g.admin); err != nil { // the planners warn of what deletes
		return err
	}
	g.queues = definitions.NewQueues(set, g.admin, g.cfg.CreateQueues)
	g.workers = newWorkers(g.admin, g.names)
	g.requests, err = request.Open(ctx, request.Options{
		Kafka: g.cfg.Kafka, Source: source, Logger: g.logger, ProduceTimeout: g.limits.Produce,
	})
	if err != nil {
		return err
	}
	g.calls, err = calls.Open(ctx, calls.Options{Kafka: g.cfg.Kafka, Most: g.limits.Tunnels, Times: g.cfg.Tunnels, Logger: g.logger})
	if err != nil {
		return err
	}
	if g.cfg.Archive != nil {
		if g.out, err = kafka.NewEffectsProducer(g.cfg.Kafka); err != nil {
			return err
		}
	}
	if g.book, err = definitions.Open(ctx, g.cfg.Kafka); err != nil {
		return err
	}
	if g.follow, err = openFollower(ctx, g.cfg.Kafka, set.Partitions(), g.logger); err != nil {
		return err
	}
	g.view, err = view.Open(ctx, g.cfg.Kafka, g.cfg.Dir, g.logger)
	return err
}

// Handler serves all routes.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Close ends event streams and closes the clients.
// Closing again does nothing.
func (g *Gateway) Close() error {
	if !g.closed.CompareAndSwap(false, true) {
		return nil
	}
	g.endStreams()
	g.metrics.unregister(g.cfg.Registry)
	return g.closeClients()
}

func (g *Gateway) endStreams() {
	g.ending.Do(func() {
		close(g.stopping)
		g.calls.End()
	})
}

func (g *Gateway) closeClients() error {
	var errs []error
	if g.view != nil {
		errs = append(errs, g.view.Close())
	}
	if g.follow != nil {
		g.follow.close()
	}
	if g.book != nil {
		g.book.Close()
	}
	if g.calls != nil {
		g.calls.Close()
	}
	if g.requests != nil {
		errs = append(errs, g.requests.Close())
	}
	for _, cl := range []*kgo.Client{g.out, g.admin} {
		if cl != nil {
			cl.Close()
		}
	}
	return errors.Join(errs...)
}

// Run opens a gateway and serves until ctx ends. It serves on ln and owns it;
// nil means the configured address. ready is called with the address.
func Run(ctx context.Context, cfg Config, ln net.Listener, ready func(net.Addr)) error {
	if ln != nil {
		cfg.Listen = ln.Addr().String()
	}
	if err := cfg.checkListen(); err != nil {
		return errors.Join(err, closeListener(ln))
	}
	g, err := Open(ctx, cfg)
	if err != nil {
		return errors.Join(err, closeListener(ln))
	}
	if ln == nil {
		if ln, err = service.Listen(ctx, cfg.Listen); err != nil {
			return errors.Join(err, g.Close())
		}
	}
	served, err := service.Encrypted(service.Bounded(ln, g.cfg.Bounds), g.cfg.CertFile, g.cfg.KeyFile, g.logger)
	if err != nil {
		return errors.Join(err, ln.Close(), g.Close())
	}
	stop := context.AfterFunc(ctx, g.endStreams)
	defer stop()
	ready(ln.Addr())
	err = service.ServeHTTP(ctx, served, g.handler, stopGrace, g.logger)
	return errors.Join(err, g.Close())
}

func closeListener(ln net.Listener) error {
	if ln == nil {
		return nil
	}
	return ln.Close()
}
