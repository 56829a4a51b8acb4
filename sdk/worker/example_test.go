package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

type Payment struct {
	Card  string `json:"card"`
	Cents int    `json:"cents"`
}

type Receipt struct {
	ID string `json:"id"`
}

// Charge is shared by the worker, flows and tests.
var Charge = task.Define[Payment, Receipt]("payments.charge")

var errDeclined = errors.New("the card was declined")

func charge(ctx context.Context, p Payment) (Receipt, error) {
	switch p.Card {
	case "declined":
		return Receipt{}, &task.Error{Type: "card_declined", Err: errDeclined, NonRetryable: true}
	case "busy":
		return Receipt{}, &task.Error{Type: "bank_busy", Message: "try later", RetryAfter: 30 * time.Second}
	}
	return Receipt{ID: "receipt for " + task.IdempotencyKey(ctx)}, nil
}

func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w, err := worker.New(worker.Options{}) // without brokers it finds a running `heddle dev`
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, Charge, charge)
	if err := w.Run(ctx); err != nil { // until a signal comes; then it drains
		log.Fatal(err)
	}
}

// Double comes from the queue "orders".
var Double = task.Define[int, int]("orders.double")

const doubling = `{"name": "doubling", "components": {"twice": {"step": "orders.double"}}}`

// doubled starts a workflow whose step w runs, and returns its result.
func doubled(w *worker.Worker, n int) (out int, err error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	c, err := client.New(ctx, client.Options{URL: devtest.Running().URL})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	run, err := c.Start(ctx, doubling, n, client.StartOptions{})
	if err != nil {
		return 0, err
	}
	return client.Result[int](ctx, run, "twice")
}

var quiet = slog.New(slog.DiscardHandler)

// printer is an adapter, as docs/executors.md says how to write one.
type printer struct{ executor.Adapter }

func ExampleServe() {
	w, err := worker.New(worker.Options{Brokers: []string{"kafka-1:9092"}})
	if err != nil {
		log.Fatal(err)
	}
	worker.Serve(w, "print", printer{}, worker.ServeOptions{Open: 100})
	fmt.Println(w.Queues())
	// Output: [print] <nil>
}

func ExampleWorker_Run() {
	w, err := worker.New(worker.Options{Brokers: devtest.Running().Brokers, Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, Double, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	fmt.Println(doubled(w, 21)) // which calls w.Run
	// Output: 42 <nil>
}

func ExampleWorker_Queues() {
	w, err := worker.New(worker.Options{Brokers: devtest.Running().Brokers, Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, Charge, charge)
	worker.Handle(w, Double, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	fmt.Println(w.Queues())
	// Output: [payments orders] <nil>
}

func ExampleInterceptor() {
	logged := func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			result, err := next(ctx, input)
			fmt.Printf("%s, attempt %d: %s, %v\n", task.Component(ctx), task.Number(ctx), result, err)
			return result, err
		}
	}
	w, err := worker.New(worker.Options{
		Brokers: devtest.Running().Brokers, Logger: quiet, Interceptors: []worker.Interceptor{logged},
	})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, Double, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	fmt.Println(doubled(w, 4))
	// Output:
	// twice, attempt 1: 8, <nil>
	// 8 <nil>
}

func TestMain(m *testing.M) { devtest.Main(m) }

// A task's function is an ordinary function: its test calls it.
func ExampleHandle() {
	ctx := task.WithAttempt(context.Background(), &task.Attempt{IdempotencyKey: "order-7/r1"})
	r, err := charge(ctx, Payment{Card: "4242", Cents: 1999})
	fmt.Println(r.ID, err)
	_, err = charge(ctx, Payment{Card: "declined"})
	fmt.Println(err, errors.Is(err, errDeclined))
	// Output:
	// receipt for order-7/r1 <nil>
	// card_declined: the card was declined true
}

func ExampleNew() {
	w, err := worker.New(worker.Options{Brokers: devtest.Running().Brokers, Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, Charge, charge)
	fmt.Println("w.Run(ctx) takes attempts of", Charge.Name())
	// Output: w.Run(ctx) takes attempts of payments.charge
}
