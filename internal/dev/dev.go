package dev

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/executor"
	"github.com/heddle-run/heddle/services/planner/pool"
)

// Options of a deployment. The zero value is one on free ports, whose data is
// gone when it stops.
type Options struct {
	// Dir is the data directory. Empty: a temporary one, removed by Stop.
	Dir string
	// Memory keeps the broker's logs in memory: nothing outlives Stop.
	Memory bool

	HTTP  string // gateway's address; empty: any free port of loopback
	Kafka string // broker's address; empty: any free port of loopback
	// Where the port is taken, use the next free one.
	NextHTTP, NextKafka bool

	// Network, when set, is what the broker listens on, so that nobody outside this process
	// reaches it, and the gateway where HTTP is empty. No dev.json is written, and Planner
	// is nil. nil: TCP.
	Network *broker.Network

	// ObserveBroker, when set, is called with each produce and fetch request of the broker
	// (broker.Options.Observe): it counts what the services ask for.
	ObserveBroker func(kmsg.Request)

	Prefix     string   // of topics; empty: the default
	Partitions int32    // of the topics keyed by workflow ID, 0: those of the data, or 8 when they are made
	Queues     []string // task queues to make besides the default one

	History time.Duration // that journals keep behind what recovery needs; 0: the default of planners

	// Store is where runs are kept when Kafka has them no more; the caller closes it behind Stop. nil: Pebble below
	// Dir, with Memory the memory.
	Store store.Store
	// NoArchive keeps no runs but those that the planner has.
	NoArchive bool
	// ArchiveAll keeps the records of living runs, too.
	ArchiveAll bool

	Services   map[string]executor.Service // HTTP services by the queue they serve
	Rules      executor.HTTPRules          // of http.request; loopback is allowed beside them
	NoLoopback bool                        // not even loopback
	NoTest     bool                        // no test.* tasks
	Emit       []string                    // topics that kafka.produce may write to
	Terminals  executor.Terminals          // that terminal.submit may type into
	Commands   executor.Commands           // that exec.command may run

	// Pools are the pools of runners by name, with the queues that are bound to them. Runners connect to RunnersURL.
	Pools map[string]pool.Options
	// RunnersOrigins are those of web pages that may have runners, as https://HOST:PORT.
	RunnersOrigins []string

	// Planner is the command line of `heddle planner`, to run the planner as a process
	// of its own, for killing it; flags are added to it. nil: it runs in this process.
	Planner []string

	// BrokerFailed is called when the broker cannot write to its directory. It
	// answers nobody any more, so services cannot be stopped in order: the
	// process should end at once. nil: nobody asks.
	BrokerFailed func(error)

	Logger *slog.Logger // nil: silent
}

// defaultPartitions is enough parallelism for one machine.
const defaultPartitions = 8

// Service names one of the services of a deployment.
type Service int

// The services. They are stopped in the opposite order.
const (
	Planner Service = iota
	Executor
	Readiness
	Archiver
	Gateway
	services
)

// Dev is a running deployment. Stop it.
type Dev struct {
	URL     string   // of the gateway
	Brokers []string // of Kafka
	Prefix  string
	Dir     string // the data directory

	RunnersURL string // that runners connect to

	HTTPClient *http.Client // that reaches URL; nil: any does

	options  Options
	data     *dataDir
	key      string // of task tokens
	broker   *broker.Broker
	config   kafka.Config
	logger   *slog.Logger
	listener net.Listener // of the gateway's first start
	address  string       // of the gateway
	registry *prometheus.Registry
	archive  store.Store  // nil: there is none
	own      store.Opened // the same, if it is this deployment's
	units    [services]*unit
	started  atomic.Int32 // planners in this process, so far
	process  plannerProcess
	runners  relay // to the executor that has their sockets
	ended    chan error
}

// Start starts everything and returns when it can be used. ctx bounds the start
// only.
func Start(ctx context.Context, o Options) (_ *Dev, err error) {
	d := &Dev{options: o, logger: o.Logger, registry: prometheus.NewRegistry(), ended: make(chan error, 8)}
	if d.logger == nil {
		d.logger = slog.New(slog.DiscardHandler)
	}
	d.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Stop())
		}
	}()
	if err := o.checkPools(); err != nil {
		return nil, err
	}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	d.compose()
	if err := d.startServices(ctx); err != nil {
		return nil, err
	}
	if o.Network != nil {
		return d, nil
	}
	return d, d.announce()
}

// startServices starts all at a time: none needs another one to start. Where one cannot, the
// others are given up, as a planner that waits for room on the disk is, and its error is
// told.
func (d *Dev) startServices(ctx context.Context) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var first error
	var failed sync.Once
	var starting sync.WaitGroup
	for s := range d.units {
		starting.Go(func() {
			if err := d.StartService(ctx, Service(s)); err != nil {
				failed.Do(func() { first = err; giveUp() })
			}
		})
	}
	starting.Wait()
	return first
}

// StartService starts a service that does not run and returns when it can be
// used.
func (d *Dev) StartService(ctx context.Context, s Service) error {
	return d.units[s].start(ctx, func(err error) {
		select {
		case d.ended <- err:
		default: // somebody has enough to read already
		}
	})
}

// StopService ends a service in order.
func (d *Dev) StopService(s Service) error { return d.units[s].stop() }

// Ended tells of services that have ended by themselves.
func (d *Dev) Ended() <-chan error { return d.ended }

// Stop ends the services, the planner last, then the broker, and gives the data
// directory back.
func (d *Dev) Stop() error {
	var errs []error
	if d.data != nil {
		errs = append(errs, devfile.Remove(d.data.path))
	}
	for i := len(d.units) - 1; i >= 0; i-- {
		if d.units[i] != nil {
			errs = append(errs, d.units[i].stop())
		}
	}
	for _, c := range d.closers() {
		errs = append(errs, c.Close())
	}
	if d.data != nil {
		if d.options.Memory { // the stores are of a broker that is no more
			errs = append(errs, os.RemoveAll(d.data.join("planner")))
		}
		errs = append(errs, d.data.close())
	}
	return errors.Join(errs...)
}

// closers are what is left when the services have ended.
func (d *Dev) closers() []io.Closer {
	var all []io.Closer
	if d.listener != nil {
		all = append(all, d.listener)
	}
	if d.own != nil {
		all = append(all, d.own)
	}
	if d.broker != nil {
		all = append(all, d.broker)
	}
	return all
}
