package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/services/executor"
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

	Prefix     string   // of topics; empty: the default
	Partitions int32    // of the topics keyed by workflow ID, when they are made; 0: 8
	Queues     []string // task queues to make besides the default one

	Services map[string]executor.Service // HTTP services by the queue they serve
	Rules    executor.HTTPRules          // of http.request; loopback is always allowed
	Emit     []string                    // topics that kafka.produce may write to

	Logger *slog.Logger // nil: silent
}

// defaultPartitions is enough parallelism for one machine.
const defaultPartitions = 8

// Service names one of the services of a deployment.
type Service int

// The services, in the order in which they are started.
const (
	Planner Service = iota
	Executor
	Readiness
	Gateway
	services
)

// Dev is a running deployment. Stop it.
type Dev struct {
	URL     string   // of the gateway
	Brokers []string // of Kafka
	Prefix  string
	Dir     string // the data directory

	options  Options
	data     *dataDir
	key      string // of task tokens
	broker   *broker.Broker
	config   kafka.Config
	logger   *slog.Logger
	listener net.Listener // of the gateway's first start
	address  string       // of the gateway
	registry *prometheus.Registry
	units    [services]*unit
	planner  plannerUnit
	ended    chan error
}

// Start starts everything and returns when it can be used. ctx bounds the start
// only.
func Start(ctx context.Context, o Options) (_ *Dev, err error) {
	if o.Partitions == 0 {
		o.Partitions = defaultPartitions
	}
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
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	d.compose()
	for s := range d.units {
		if err := d.StartService(ctx, Service(s)); err != nil {
			return nil, err
		}
	}
	return d, d.announce()
}

// open locks the data, starts the broker, takes the gateway's port and makes
// the topics.
func (d *Dev) open(ctx context.Context) (err error) {
	if d.data, err = openDir(d.options.Dir); err != nil {
		return err
	}
	d.Dir = d.data.path
	if d.key, err = d.data.tokenKey(); err != nil {
		return err
	}
	if d.listener, err = listen(ctx, d.options.HTTP, d.options.NextHTTP); err != nil {
		return err
	}
	d.address = d.listener.Addr().String()
	d.URL = "http://" + d.address
	if d.broker, err = d.startBroker(ctx); err != nil {
		return err
	}
	d.Brokers = []string{d.broker.Addr()}
	d.config = kafka.Config{Brokers: d.Brokers, Prefix: d.options.Prefix, ClientID: "heddle-dev", Logger: d.logger}
	set, err := d.makeTopics(ctx)
	if err != nil {
		return err
	}
	d.Prefix = set.Prefix()
	return nil
}

func (d *Dev) startBroker(ctx context.Context) (*broker.Broker, error) {
	o := broker.Options{Dir: d.data.join("broker"), Addr: d.options.Kafka, NextPort: d.options.NextKafka, Logger: d.logger}
	if d.options.Memory {
		o.Dir = ""
	}
	return broker.Start(ctx, o)
}

// makeTopics applies the topics. Those of an earlier start keep their counts
// and their queues.
func (d *Dev) makeTopics(ctx context.Context) (*topics.Set, error) {
	cl, err := kafka.NewAdmin(d.config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	o := topics.Options{Prefix: d.options.Prefix, Partitions: d.options.Partitions, Queues: d.options.Queues}
	for queue := range d.options.Services {
		o.Queues = append(o.Queues, queue)
	}
	found, err := topics.Default().Discover(ctx, cl, d.options.Prefix)
	var missing *topics.MismatchError
	switch {
	case err == nil:
		o.Partitions = found.Partitions()
		o.Queues = append(o.Queues, found.Queues()...)
	case !errors.As(err, &missing):
		return nil, err
	}
	set, err := topics.Default().Set(o)
	if err != nil {
		return nil, err
	}
	if _, err := set.Apply(ctx, cl); err != nil {
		return nil, fmt.Errorf("making the topics: %w", err)
	}
	return set, nil
}

// announce writes dev.json, where the command line and the SDKs look.
func (d *Dev) announce() error {
	return devfile.Write(d.Dir, devfile.File{URL: d.URL, Brokers: d.Brokers, Prefix: d.Prefix, PID: os.Getpid()})
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

// Stop ends the services in the opposite order of their start, then the broker,
// and gives the data directory back.
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
	if d.broker != nil {
		all = append(all, d.broker)
	}
	return all
}
