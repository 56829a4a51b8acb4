package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

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
		return Receipt{}, task.Fail("card_declined", errDeclined, task.NonRetryable())
	case "busy":
		return Receipt{}, task.Fail("bank_busy", errors.New("try later"), task.RetryAfter(30*time.Second))
	}
	return Receipt{ID: "receipt for " + task.IdempotencyKey(ctx)}, nil
}

func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w, err := worker.New(worker.Options{Brokers: []string{"127.0.0.1:4092"}})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, Charge, charge)
	if err := w.Run(ctx); err != nil { // until a signal comes; then it drains
		log.Fatal(err)
	}
}

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
