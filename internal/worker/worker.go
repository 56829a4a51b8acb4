package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// Config says what a Worker takes and how. Zero durations mean the defaults.
type Config struct {
	Kafka   kafka.Config
	Name    string // of the worker: shown in histories, unique per process
	Channel string // how attempts reach the work: the reason of a notification
	Pools   []Pool

	Grace       time.Duration // an attempt that outlives it is notified; 200 ms
	Heartbeat   time.Duration // between heartbeats of a notified attempt; 5 s
	CommitEvery time.Duration // between commits of what is done; 50 ms
	DrainLimit  time.Duration // what attempts get to finish at shutdown; 25 s
	MaxResult   int           // bytes of a result; what fits an inbox record
	Classic     bool          // the old group protocol, also where the cluster has KIP-848

	Ready    func()       // called once, when the Worker has joined; nil: nobody asks
	Logger   *slog.Logger // nil: silent
	Observer Observer     // nil: nobody
	Tracer   trace.Tracer // of spans; nil: none are made
}

// Pool is a number of slots for the attempts of some queues.
type Pool struct {
	Queues []string
	Slots  int // attempts at a time
	Lookup Lookup
	Known  func() []string // the tasks that Lookup finds; nil: it finds others too, or nobody can say

	// Cancelled is told of each cancellation of an attempt, of whatever queue, that has not begun here, back to the longest
	// that cancellations are kept: what another worker had handed over for it may go on. It must return at once. nil: nobody asks.
	Cancelled func(*events.TaskCancel)
}

// Defaults of Config.
const (
	DefaultGrace       = 200 * time.Millisecond
	DefaultHeartbeat   = 5 * time.Second
	DefaultCommitEvery = 50 * time.Millisecond
	DefaultDrainLimit  = 25 * time.Second
)

// inboxOverhead is what an outcome's record has besides its result, at most:
// token, executor, key and the batch around it.
const inboxOverhead = 4 << 10

// Worker takes attempts from queues. Make one with New and Run it once.
type Worker struct {
	config Config
	names  topics.Names
	inbox  string // the topic of reports
	log    *slog.Logger

	tracker   *tracker
	pools     []*pool
	consumers []*consumer
	producer  *kgo.Client                                                  // of reports
	tail      *kgo.Client                                                  // of cancellations
	hearing   kafka.Reading                                                // of tail
	produce   func(context.Context, *kgo.Record, func(*kgo.Record, error)) // the producer's
	base      context.Context

	unproduced unproduced
	misfits    unproduced    // until the limit of the inbox is asked for
	misfitting chan struct{} // there are some
	mostInbox  int32         // bytes of a batch, by topics.yaml
}

// New checks the configuration. It contacts nobody.
func New(c Config) (*Worker, error) {
	names, err := c.Kafka.Names()
	if err != nil {
		return nil, err
	}
	if err := checkPools(c.Pools); err != nil {
		return nil, err
	}
	mostInbox := topics.Default().MaxBytes(names, names.Inbox())
	c.defaults(int(mostInbox) - inboxOverhead)
	t := &Worker{
		config: c, names: names, inbox: names.Inbox(), mostInbox: mostInbox, log: c.Logger,
		misfitting: make(chan struct{}, 1), hearing: kafka.Reading{What: "cancellations", Logger: c.Logger},
	}
	slots := 0
	for _, p := range c.Pools {
		t.pools = append(t.pools, newPool(t, p))
		slots += p.Slots
	}
	t.tracker = newTracker(slots)
	for _, p := range t.pools {
		for _, q := range p.Queues {
			t.consumers = append(t.consumers, newConsumer(t, p, q))
		}
	}
	return t, nil
}

func checkPools(pools []Pool) error {
	if len(pools) == 0 {
		return errors.New("worker: no queues to take from")
	}
	served := map[string]bool{}
	for _, p := range pools {
		if p.Slots < 1 || len(p.Queues) == 0 || p.Lookup == nil {
			return fmt.Errorf("worker: a pool for the queues %q needs queues, at least one slot (has %d) and a lookup", p.Queues, p.Slots)
		}
		for _, q := range p.Queues {
			if err := policy.CheckQueue(q); err != nil {
				return fmt.Errorf("worker: %w", err)
			}
			if served[q] {
				return fmt.Errorf("worker: the queue %q is in two pools", q)
			}
			served[q] = true
		}
	}
	return nil
}

// brokerPatience is how long a broker that stalls is waited for: another one leads by
// then. By kgo's 20 s an attempt would be late by as much, or by twice that.
const brokerPatience = 3 * time.Second

// defaults completes a configuration whose results have at most so many bytes.
func (c *Config) defaults(mostResult int) {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&c.Grace, DefaultGrace}, {&c.Heartbeat, DefaultHeartbeat},
		{&c.CommitEvery, DefaultCommitEvery}, {&c.DrainLimit, DefaultDrainLimit},
		{&c.Kafka.Patience, brokerPatience},
	} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	if c.MaxResult <= 0 || c.MaxResult > mostResult {
		c.MaxResult = mostResult
	}
	if c.Kafka.Limits == nil {
		c.Kafka.Limits = &kafka.Limits{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
}

// Run takes and runs attempts until ctx ends, then drains: it leaves the groups
// at once, lets running attempts finish within the drain limit, cancels and
// hands back the rest, and returns when what it reported is acknowledged. It
// returns an error when it cannot start, or could not drain; a cluster that does
// not answer yet is waited for.
func (t *Worker) Run(ctx context.Context) error {
	t.base = context.WithoutCancel(ctx)
	if err := t.connect(ctx); err != nil {
		t.close()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	// What runs beside the attempts ends after them.
	beside, stop := context.WithCancel(t.base)
	var helpers, polls sync.WaitGroup
	helpers.Go(func() { t.sweep(beside) })
	helpers.Go(func() { t.control(beside) })
	helpers.Go(func() { t.askLimits(beside) })
	for _, p := range t.pools {
		for range p.Slots {
			p.slots.Go(p.slot)
		}
	}
	for _, c := range t.consumers {
		polls.Go(func() { c.run(ctx) })
		helpers.Go(func() { c.commitLoop(beside) })
	}
	if t.config.Ready != nil {
		t.config.Ready()
	}
	<-ctx.Done()
	err := t.drain(&polls)
	stop()
	helpers.Wait()
	t.close()
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
