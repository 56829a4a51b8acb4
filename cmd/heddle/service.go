package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/internal/tracing/otlp"
)

// logging are the settings of a service's log, which goes to the standard error.
type logging struct {
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Least level that is logged: ${enum}."`
	LogFormat string `enum:"text,json" default:"text" help:"${enum}."`
}

// logger makes the log.
func (l *logging) logger(a *app) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.LogLevel)); err != nil {
		panic("a level that the parser let through: " + err.Error())
	}
	o := &slog.HandlerOptions{Level: level}
	if l.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.err, o))
	}
	return slog.New(slog.NewTextHandler(a.err, o))
}

// serviceSettings are what every service process takes.
type serviceSettings struct {
	cluster
	logging
	HTTP string `placeholder:"ADDR" help:"Address of /livez, /readyz and /metrics; without it they are not served."`
	Name string `help:"Name of this process, unlike that of any other; without it one is made from the host's name."`

	health service.Health
	served string // host:port that HTTP came to; empty: nothing is served
}

// checkTopics refuses to run on a cluster whose topics are not as they should
// be, and returns the deployment's topics.
func (c *cluster) checkTopics(ctx context.Context) (*topics.Set, error) {
	cl, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	set, err := topics.Default().Discover(ctx, cl, c.Prefix)
	if err != nil {
		return nil, err
	}
	_, err = set.CheckToRun(ctx, cl) // planners warn of what deletes
	return set, err
}

// body is a service that is run: it calls ready once when it can be used.
type body func(ctx context.Context, ready func(), reg *prometheus.Registry) error

// httpGrace is how long the endpoints get to answer when a process stops.
const httpGrace = 5 * time.Second

// runService runs one service until the process is told to stop, with its
// health and metrics beside it.
func (s *serviceSettings) runService(a *app, name string, run body) error {
	logger := s.logger(a)
	reg := newRegistry()
	var up atomic.Bool
	s.health.Ready(name, func(context.Context) error {
		if !up.Load() {
			return errors.New("it is starting")
		}
		return nil
	})
	group := service.Group{Logger: logger}
	if s.HTTP != "" {
		ln, err := service.Listen(a, s.HTTP)
		if err != nil {
			return err
		}
		s.served = ln.Addr().String()
		group.Add("health", func(ctx context.Context, ready func()) error {
			ready()
			return service.ServeHTTP(ctx, ln, service.Endpoints(&s.health, reg), httpGrace, logger)
		})
	}
	group.Add(name, func(ctx context.Context, ready func()) error {
		return run(ctx, func() { up.Store(true); ready() }, reg)
	})
	if err := group.Run(a, nil); err != nil {
		return fmt.Errorf("running the %s: %w", name, err)
	}
	return nil
}

// runTraced is runService of a service that makes spans, where the environment says whom to tell.
func (s *serviceSettings) runTraced(a *app, name string, run func(context.Context, func(), *prometheus.Registry, trace.Tracer) error) error {
	return s.runService(a, name, func(ctx context.Context, ready func(), reg *prometheus.Registry) error {
		return otlp.With(ctx, "heddle-"+name, s.logger(a), func(tracer trace.Tracer) error { return run(ctx, ready, reg, tracer) })
	})
}

// newRegistry has what every process tells of itself.
func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}
