package worker

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/tracing"
	core "github.com/heddle-run/heddle/internal/worker"
)

// Options say where a Worker takes its attempts from. Without Brokers a running
// `heddle dev` is looked for in the working directory and above it, else a broker is
// expected at 127.0.0.1:4092.
type Options struct {
	Brokers []string // host:port of some of the cluster's brokers
	Prefix  string   // of the deployment's topics; "heddle."

	// Queues to take from; those of the registered tasks. A Worker should know
	// every task of its queues: one that it does not know is handed back, and
	// comes again after a while.
	Queues []string

	// Slots is how many attempts run at a time, of all queues together; 16 per
	// CPU.
	Slots int

	Name       string        // shown in histories; host name and process ID
	DrainLimit time.Duration // what attempts get to finish when Run ends; 25 s
	Logger     *slog.Logger  // nil: slog.Default

	Interceptors []Interceptor // around each attempt; the first is the outermost

	// TracerProvider makes a span of each attempt of a workflow that was started with a traceparent;
	// nil: none. The context of the task's function has the span. Package tracing makes a provider
	// out of the usual OTEL_ variables.
	TracerProvider trace.TracerProvider

	Security Security // TLS and login, of files and values; TLS and SASL below win

	TLS    *tls.Config                                                       // over what the dialer opens; nil: plain text
	SASL   sasl.Mechanism                                                    // nil: none
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
}

// Security says how connections to Kafka are encrypted and who the worker is.
type Security = kafka.Security

const slotsPerCPU = 16

// Worker runs the tasks that Handle registers.
type Worker struct {
	options  Options
	handlers map[string]core.Handler
	queues   []string // of the registered tasks
	served   []served // queues that have adapters
	running  bool
	errs     []error // of registrations
}

// New checks the options. It contacts nobody.
func New(o Options) (*Worker, error) {
	if len(o.Brokers) == 0 {
		dev, err := devfile.Running()
		if err != nil {
			return nil, fmt.Errorf("worker: no brokers: %w", err)
		}
		o.Brokers, o.Prefix = dev.Brokers, cmp.Or(o.Prefix, dev.Prefix)
	}
	if o.Slots < 0 {
		return nil, fmt.Errorf("worker: Options.Slots is %d", o.Slots)
	}
	if o.Slots == 0 {
		o.Slots = slotsPerCPU * runtime.GOMAXPROCS(0)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Name == "" {
		o.Name = defaultName()
	}
	return &Worker{options: o, handlers: map[string]core.Handler{}}, nil
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

func (w *Worker) register(name, queue string, h core.Handler) {
	switch {
	case w.running:
		w.errs = append(w.errs, fmt.Errorf("worker: the task %s was registered after Run", name))
	case w.handlers[name] != nil:
		w.errs = append(w.errs, fmt.Errorf("worker: the task %s is registered twice", name))
	default:
		w.handlers[name] = h
		if !slices.Contains(w.queues, queue) {
			w.queues = append(w.queues, queue)
		}
	}
}

func (w *Worker) lookup(name string) (core.Handler, bool) {
	h, ok := w.handlers[name]
	return h, ok
}

// known are the tasks that are registered.
func (w *Worker) known() []string { return slices.Sorted(maps.Keys(w.handlers)) }

// Queues are the queues that Run takes from. The error is what Run would say of the
// registrations.
func (w *Worker) Queues() ([]string, error) {
	queues := slices.Clone(w.ofTasks())
	for _, s := range w.served {
		queues = append(queues, s.queue)
	}
	errs := w.errs
	if len(queues) == 0 {
		errs = append(slices.Clone(errs), errors.New("worker: no task is registered"))
	}
	return queues, errors.Join(errs...)
}

// ofTasks are the queues whose attempts the registered tasks get.
func (w *Worker) ofTasks() []string {
	if len(w.options.Queues) > 0 {
		return w.options.Queues
	}
	return w.queues
}

// pools are the slots of a Run that ends with stopping.
func (w *Worker) pools(stopping <-chan struct{}) []core.Pool {
	var pools []core.Pool
	if queues := w.ofTasks(); len(queues) > 0 {
		pools = append(pools, core.Pool{Queues: queues, Slots: w.options.Slots, Lookup: w.lookup, Known: w.known})
	}
	for _, s := range w.served {
		pools = append(pools, s.pool(w, stopping))
	}
	return pools
}

// Run takes and runs attempts until ctx ends, then drains: it takes no more,
// lets running attempts finish within the drain limit, cancels and hands back
// the rest, and returns when everything it reported is acknowledged. A Worker
// runs once.
func (w *Worker) Run(ctx context.Context) error {
	if w.running {
		w.errs = append(w.errs, errors.New("worker: Run was called twice"))
	}
	w.running = true
	queues, err := w.Queues()
	if err != nil {
		return err
	}
	o := w.options
	var tracer trace.Tracer
	if o.TracerProvider != nil {
		tracer = o.TracerProvider.Tracer(tracing.Scope)
	}
	t, err := core.New(core.Config{
		Kafka: kafka.Config{
			Brokers: o.Brokers, Prefix: o.Prefix, ClientID: "heddle-worker",
			Dialer: o.Dialer, TLS: o.TLS, SASL: o.SASL, Security: o.Security, Logger: o.Logger,
		},
		Name: o.Name, Channel: "worker", DrainLimit: o.DrainLimit, Logger: o.Logger, Tracer: tracer,
		Pools: w.pools(ctx.Done()),
	})
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	o.Logger.Info("worker takes tasks", "queues", queues, "slots", o.Slots, "name", o.Name)
	return t.Run(ctx)
}
