// Command program is what somebody outside this repository writes: a task, a worker
// that serves it, and a client that starts a workflow and wants its result.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

type order struct {
	Items []string `json:"items"`
}

var count = task.Define[order, int]("outside.count")

const definition = `{"name": "outside", "components": {"n": {"step": "outside.count"}}}`

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// connect gives each type that a user of the SDK names a value.
func connect(ctx context.Context) (*client.Client, error) {
	var security kafkaclient.Security
	var seen client.Interceptor = func(next client.Handler) client.Handler {
		return func(ctx context.Context, c *client.Call) error { return next(ctx, c) }
	}
	overKafka, err := kafkaclient.New(ctx, kafkaclient.Options{Security: security, Interceptors: []client.Interceptor{seen}})
	if err != nil {
		return nil, err
	}
	if err := overKafka.Close(); err != nil {
		return nil, err
	}
	return client.New(ctx, client.Options{HTTPClient: &http.Client{}, Interceptors: []client.Interceptor{seen}})
}

func run(ctx context.Context) error {
	w, err := worker.New(worker.Options{Logger: slog.New(slog.DiscardHandler), Interceptors: []worker.Interceptor{
		func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) { return next(ctx, in) }
		},
	}})
	if err != nil {
		return err
	}
	worker.Handle(w, count, func(_ context.Context, o order) (int, error) {
		if len(o.Items) == 0 {
			return 0, &task.Error{Type: "empty", Message: "there is nothing to count", NonRetryable: true}
		}
		return len(o.Items), nil
	})
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	defer stop()

	c, err := connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	started, err := c.Start(ctx, definition, order{Items: []string{"mug", "cup"}}, client.StartOptions{})
	if err != nil {
		return err
	}
	n, err := client.Result[int](ctx, started, "n")
	if err != nil {
		return err
	}
	fmt.Println("counted", n)

	none, err := c.Start(ctx, definition, order{}, client.StartOptions{Wait: client.UntilDrained})
	if err != nil {
		return err
	}
	var failed *client.FailedError
	var why *task.Error
	_, err = client.Result[int](ctx, none, "n")
	if !errors.As(err, &failed) || !errors.As(err, &why) || failed.Workflow.Status != client.StatusFailed {
		return fmt.Errorf("an empty order came to %w", err)
	}
	fmt.Println("failed", why.Type)
	stop()
	return <-ended
}
