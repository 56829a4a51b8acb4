package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/bench"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
)

var quiet = slog.New(slog.DiscardHandler)

// accountant starts workflows, runs their steps, and keeps the book.
type accountant struct {
	options options
	brokers []string
	kafka   *client.Client
	http    *client.Client
	book    *book
	ran     *executions
	service *reporter

	unsettled []string // workflows that had not ended when settle gave up

	starting, working   sync.WaitGroup
	stopStart, stopWork context.CancelFunc
	workErr             chan error
}

func newAccountant(ctx context.Context, d *deployment, o options) (*accountant, error) {
	a := &accountant{options: o, brokers: d.brokers(), book: newBook(), ran: newExecutions(), workErr: make(chan error, 1)}
	var err error
	if a.service, err = newReporter(a.ran); err != nil {
		return nil, err
	}
	if a.kafka, err = kafkaclient.New(ctx, kafkaclient.Options{Brokers: a.brokers, Source: "torture"}); err != nil {
		return nil, err
	}
	if a.http, err = client.New(ctx, client.Options{URL: "http://" + d.http}); err != nil {
		return nil, err
	}
	if err := a.define(ctx); err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stopWork = stop
	a.working.Go(func() { a.workErr <- a.ran.serve(work, a.brokers) })
	return a, nil
}

// define registers the definitions, and with them the queues that the worker
// serves.
func (a *accountant) define(ctx context.Context) error {
	load, err := bench.Find(benchWorkload)
	if err != nil {
		return err
	}
	if _, err := a.http.Define(ctx, "bench-"+benchWorkload, load.Definition); err != nil {
		return err
	}
	_, err = a.http.Define(ctx, definitionName, a.service.definition())
	return err
}

// close ends it; closing again does nothing.
func (a *accountant) close() {
	a.stopWork()
	a.working.Wait()
	// What is open in the clients is of no interest any more.
	_ = a.kafka.Close()
	_ = a.http.Close()
	_ = a.service.close()
}

// begin starts the clients; end stops them.
func (a *accountant) begin(ctx context.Context) {
	ctx, a.stopStart = context.WithCancel(ctx)
	every := time.Second * time.Duration(a.options.clients) / time.Duration(max(a.options.rate, 1))
	for i := range a.options.clients {
		a.starting.Go(func() { a.client(ctx, i, every) })
	}
}

func (a *accountant) end() {
	a.stopStart()
	a.starting.Wait()
}

// client starts a workflow every so often, in turns by the different ways.
func (a *accountant) client(ctx context.Context, number int, every time.Duration) {
	random := rand.New(rand.NewPCG(a.options.seed, uint64(number)+2))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		id := fmt.Sprintf("t-%d-%d", number, n)
		in := input{N: random.IntN(1000)}
		a.book.enter(id, in.N)
		a.one(ctx, id, in, (number+n)%4)
	}
}

// tryFor bounds one try of a start; then it counts as not acknowledged.
const tryFor = 3 * time.Second

// one starts a workflow one of four ways and notes what was acknowledged.
func (a *accountant) one(ctx context.Context, id string, in input, way int) {
	switch way {
	case 0: // acknowledged by Kafka, not decided yet
		a.try(ctx, a.kafka, in, client.StartOptions{ID: id, Wait: client.UntilWritten})
	case 1: // decided
		a.try(ctx, a.kafka, in, client.StartOptions{ID: id})
	case 2: // decided, over HTTP
		a.try(ctx, a.http, in, client.StartOptions{ID: id})
	case 3: // repeated under one key until it is acknowledged
		for ctx.Err() == nil && !a.try(ctx, a.http, in, client.StartOptions{ID: id, IdempotencyKey: "key-" + id}) {
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// try sends one start and reports whether it was acknowledged.
func (a *accountant) try(ctx context.Context, c *client.Client, in input, o client.StartOptions) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryFor)
	defer cancel()
	_, err := c.Start(ctx, definitionName, in, o)
	if err != nil {
		return false
	}
	a.book.acknowledge(o.ID)
	return true
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
