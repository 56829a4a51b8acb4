package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/services/executor/keeping"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/frames"
)

// Config are the settings of an executor. Zero values mean the defaults.
type Config struct {
	Kafka kafka.Config
	Name  string // shown in histories, unique per process; host name and process ID

	Slots      int           // attempts of the queue "default" at a time; 64
	DrainLimit time.Duration // what attempts get to finish at shutdown; 25 s

	HTTP      HTTPRules
	Topics    []string           // that kafka.produce may write to: names, or prefixes ending in *; none
	Services  map[string]Service // HTTP services by the queue they serve
	Terminals Terminals          // that terminal.submit may type into; none
	Commands  Commands           // that exec.command may run; none
	Test      bool               // test.* tasks: for development
	Runners   *Runners           // that are served; nil: none

	Ready      func()                // called once, when attempts can be taken
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // of metrics; nil: none
	Tracer     trace.Tracer          // of spans; nil: none are made
}

// HTTPRules say where http.request may go.
type HTTPRules struct {
	Hosts         []string       `yaml:"hosts" json:"hosts"`                   // names, or *.suffix; empty: all
	AllowLoopback bool           `yaml:"allow_loopback" json:"allow_loopback"` // 127.0.0.0/8 and ::1
	AllowPrivate  bool           `yaml:"allow_private" json:"allow_private"`   // private networks and loopback
	Networks      []netip.Prefix `yaml:"networks" json:"networks"`             // allowed whatever they are
	MaxResponse   int64          `yaml:"max_response" json:"max_response"`     // bytes of a response's body; 1 MiB
}

// Service binds a queue to a URL.
type Service struct {
	URL          string `yaml:"url" json:"url"`                     // with {task} where the task's name belongs
	Concurrency  int    `yaml:"concurrency" json:"concurrency"`     // requests at a time; 16
	AllowPrivate bool   `yaml:"allow_private" json:"allow_private"` // it is in a private network or on this machine
}

const (
	defaultSlots       = 64
	defaultConcurrency = 16
	defaultMaxResponse = 1 << 20
)

func (c *Config) defaults() {
	if c.Slots == 0 {
		c.Slots = defaultSlots
	}
	if c.HTTP.MaxResponse == 0 {
		c.HTTP.MaxResponse = defaultMaxResponse
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "executor"
		}
		c.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
}

// Runners say how runners are served.
type Runners struct {
	runners.Config // its Kafka, KV, Logger and Registerer are the executor's
	runners.Listen
}

// Run takes and runs attempts, and serves runners, until ctx ends; then it sends the runners elsewhere, and drains as worker.Worker does.
func Run(ctx context.Context, c Config) error {
	c.defaults()
	if c.Runners == nil {
		return c.work(ctx)
	}
	group := service.Group{Logger: c.Logger, StopTimeout: c.DrainLimit + time.Minute}
	group.Add("executor", func(ctx context.Context, ready func()) error {
		c := c
		c.Ready = ready
		return c.work(ctx)
	})
	group.Add("runners", func(ctx context.Context, ready func()) error { return c.serve(ctx, ready) })
	return group.Run(ctx, c.Ready)
}

// serve serves runners.
func (c *Config) serve(ctx context.Context, ready func()) error {
	r := c.Runners.Config
	r.Kafka, r.Logger, r.Registerer = c.Kafka, c.Logger, c.Registerer
	keeper := keeping.New(keeping.Config{Kafka: c.Kafka, Logger: c.Logger})
	r.KV = keeper
	err := runners.Run(ctx, r, c.Runners.Listen, func(at net.Addr) {
		if at != nil {
			c.Logger.Info("runners are served", "address", at.String(), "path", frames.Path)
		}
		ready()
	})
	return errors.Join(err, keeper.Close())
}

// work takes and runs attempts.
func (c Config) work(ctx context.Context) error {
	b, err := newBuiltins(&c, ctx.Done())
	if err != nil {
		return err
	}
	defer b.close()
	pools, err := pools(&c, b)
	if err != nil {
		return err
	}
	m := newMetrics(pools)
	t, err := worker.New(worker.Config{
		Kafka: c.Kafka, Name: c.Name, Channel: "executor", Pools: pools, DrainLimit: c.DrainLimit,
		Ready: c.Ready, Logger: c.Logger, Observer: m, Tracer: c.Tracer,
	})
	if err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	if c.Registerer != nil {
		m.stats = t.Stats
		if err := c.Registerer.Register(m); err != nil {
			return fmt.Errorf("executor: metrics: %w", err)
		}
		defer c.Registerer.Unregister(m)
	}
	return t.Run(ctx)
}

// pools are the slots: one pool for the queue "default", one per service. A
// service on "default" gets what is not built in.
func pools(c *Config, b *builtins) ([]worker.Pool, error) {
	out := []worker.Pool{{Queues: []string{topics.DefaultQueue}, Slots: c.Slots, Lookup: b.lookup, Known: b.known}}
	for _, queue := range slices.Sorted(maps.Keys(c.Services)) {
		s := c.Services[queue]
		h, err := newHTTPService(queue, s, c.HTTP)
		if err != nil {
			return nil, err
		}
		if queue == topics.DefaultQueue {
			b.rest = h
			continue
		}
		out = append(out, worker.Pool{
			Queues: []string{queue}, Slots: h.concurrency,
			Lookup: func(string) (worker.Handler, bool) { return h, true },
		})
	}
	return out, nil
}
