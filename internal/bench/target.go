package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

// Target is the deployment to measure.
type Target struct {
	Brokers    []string
	Prefix     string // of its topics; empty: the default
	URL        string // of its gateway, for ViaHTTP
	Partitions int32  // of the floor's topics

	Security   kafka.Security // of its brokers
	APIKey     string         // of its gateway
	HTTPClient *http.Client   // nil: the usual one

	Dir string // whose growth is counted; empty: unknown

	// Restart restarts the planner, with anew without its stores, and tells how
	// long it took until it owned everything; nil: it is not ours to restart.
	Restart func(ctx context.Context, anew bool) (time.Duration, error)
}

// Ways to start and await workflows.
const (
	ViaKafka = "kafka"
	ViaHTTP  = "http"
)

// Connect makes the client that measures. The caller closes it.
func (t Target) Connect(ctx context.Context, via string, concurrency int) (*client.Client, error) {
	switch via {
	case ViaKafka:
		return kafkaclient.New(ctx, kafkaclient.Options{
			Brokers: t.Brokers, Prefix: t.Prefix, Security: t.Security,
			Source: "heddle-bench", MaxWaiting: max(1<<16, 4*concurrency),
		})
	case ViaHTTP:
		if t.URL == "" {
			return nil, fmt.Errorf("measuring over HTTP needs the gateway's URL")
		}
		return client.New(ctx, client.Options{URL: t.URL, APIKey: t.APIKey, HTTPClient: t.HTTPClient})
	default:
		return nil, fmt.Errorf("there is no way %q to start workflows, only %s and %s", via, ViaKafka, ViaHTTP)
	}
}

// Work runs the steps of all workloads until ctx ends.
func (t Target) Work(ctx context.Context, slots int, logger *slog.Logger) error {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	w, err := worker.New(worker.Options{Brokers: t.Brokers, Prefix: t.Prefix, Security: t.Security, Slots: slots, Name: "bench", Logger: logger})
	if err != nil {
		return err
	}
	echo := task.Define[json.RawMessage, json.RawMessage](Task)
	worker.Handle(w, echo, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	return w.Run(ctx)
}

// working runs fn while a worker runs the steps.
func (t Target) working(ctx context.Context, slots int, logger *slog.Logger, fn func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	done := make(chan error, 1)
	go func() {
		err := t.Work(work, slots, logger)
		if err != nil {
			stop(fmt.Errorf("the worker: %w", err))
		}
		done <- err
	}()
	err := fn(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	stopWork()
	if workErr := <-done; err == nil {
		err = workErr
	}
	return err
}

// usage is what has been used so far.
type usage struct {
	at   time.Time
	cpu  time.Duration
	disk int64
}

func (t Target) usage() (usage, error) {
	u := usage{at: time.Now()}
	var err error
	if u.cpu, err = cpuTime(); err != nil {
		return u, err
	}
	if t.Dir != "" {
		u.disk, err = DiskBytes(t.Dir)
	}
	return u, err
}
