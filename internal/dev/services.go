package dev

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/internal/tracing/otlp"
	"github.com/heddle-run/heddle/services/executor"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/services/planner/archive/archiver"
	"github.com/heddle-run/heddle/services/planner/archive/shelf"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/services/planner/pool"
	"github.com/heddle-run/heddle/services/readiness/readinessd"
	"github.com/heddle-run/heddle/shared/events"
)

// instance is the name of the one process of the deployment.
const instance = "dev"

// hotBytes bounds the hot caches of all partitions together, and cacheBytes
// what the stores keep of their files: a development machine has other things
// to remember.
const (
	hotBytes   = 32 << 20
	cacheBytes = 32 << 20
)

// compose makes the services. They read what they need of d when they start.
func (d *Dev) compose() {
	runPlanner := d.runPlanner
	if d.options.Planner != nil {
		runPlanner = d.runPlannerProcess
	}
	d.units = [...]*unit{
		Planner:   {name: "planner", run: runPlanner},
		Executor:  {name: "executor", run: d.runExecutor},
		Readiness: {name: "readiness", run: d.runReadiness},
		Archiver:  {name: "archiver", run: d.runArchiver},
		Gateway:   {name: "gateway", run: d.runGateway},
	}
}

func (d *Dev) runPlanner(ctx context.Context, ready func()) error {
	return otlp.With(ctx, "heddle-planner", d.logger, func(tracer trace.Tracer) error {
		return plannerd.Run(ctx, plannerd.Config{
			Kafka: d.config, DataDir: d.data.join("planner"), Instance: instance, TokenKey: events.Key(d.key),
			CacheBytes: cacheBytes, Durability: d.durability(), Logger: d.logger, Registerer: d.registry, Tracer: tracer, Ready: ready,
			Archive: d.archive != nil, Pools: pool.Settings{Pools: d.options.Pools},
			Partition: loop.Settings{
				HotBytes: hotBytes, History: d.options.History,
				// The lock on the data directory sees to it.
				NeverRunsTwice: true,
				// What wrote to this broker before it was started is dead.
				BrokerIsOurs: d.started.Add(1) == 1,
			},
		})
	})
}

func (d *Dev) durability() *runtime.Durability {
	if d.options.Memory {
		return &runtime.Durability{Local: "memory"}
	}
	return &runtime.Durability{Local: "cache"}
}

// RestartPlanner stops the planner in order, starts it again, and tells how long
// that start took. With anew it comes back without its stores, as on another
// machine, and restores them from the changelog.
func (d *Dev) RestartPlanner(ctx context.Context, anew bool) (time.Duration, error) {
	if err := d.StopService(Planner); err != nil {
		return 0, err
	}
	if anew {
		if err := os.RemoveAll(d.data.join("planner")); err != nil {
			return 0, fmt.Errorf("removing the planner's stores: %w", err)
		}
	}
	began := time.Now()
	err := d.StartService(ctx, Planner)
	return time.Since(began), err
}

func (d *Dev) runExecutor(ctx context.Context, ready func()) error {
	rules := d.options.Rules
	rules.AllowLoopback = !d.options.NoLoopback
	return otlp.With(ctx, "heddle-executor", d.logger, func(tracer trace.Tracer) error {
		return executor.Run(ctx, executor.Config{
			Kafka: d.config, Name: instance, HTTP: rules, Topics: d.options.Emit, Services: d.options.Services, Terminals: d.options.Terminals,
			Commands: d.options.Commands, Test: !d.options.NoTest, Runners: &executor.Runners{
				Config: runners.Config{Origins: d.options.RunnersOrigins}, Listen: runners.Listen{Handler: d.runners.to},
			},
			Ready: ready, Logger: d.logger, Registerer: d.registry, Tracer: tracer,
		})
	})
}

func (d *Dev) runReadiness(ctx context.Context, ready func()) error {
	return readinessd.Run(ctx, readinessd.Config{Kafka: d.config, Logger: d.logger, Registry: d.registry}, ready)
}

// runArchiver keeps runs, if there is an archive; the planner waits for it before it forgets one.
func (d *Dev) runArchiver(ctx context.Context, ready func()) error {
	if d.archive == nil {
		ready()
		<-ctx.Done()
		return nil
	}
	return archiver.Run(ctx, archiver.Config{
		Kafka: d.config, Store: d.archive, Settings: archive.Settings{All: d.options.ArchiveAll}, Name: instance,
		Logger: d.logger, Registry: d.registry,
	}, ready)
}

func (d *Dev) runGateway(ctx context.Context, ready func()) error {
	registry := prometheus.NewRegistry() // of one start; the others' metrics are shown with it
	registry.MustRegister(d.registry)
	cfg := gateway.Config{
		Kafka: d.config, Dir: d.data.join("gateway"), Listen: d.address,
		CreateQueues: true, Runners: &d.runners, Logger: d.logger, Registry: registry,
	}
	if d.options.Memory {
		cfg.Dir = ""
	}
	if d.archive != nil {
		cfg.Archive = &shelf.Shelf{Store: d.archive}
	}
	if d.inside() {
		cfg.Bounds = service.Bounds{Connections: insideConnections, PerClient: insideConnections}
	}
	ln := d.listener
	d.listener = nil // the gateway owns it; the next start listens anew
	if ln == nil && d.inside() {
		var err error
		if ln, err = d.listen(ctx); err != nil {
			return err
		}
	}
	return gateway.Run(ctx, cfg, ln, func(net.Addr) { ready() })
}
