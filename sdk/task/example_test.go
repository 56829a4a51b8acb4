package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
)

type order struct {
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

// Price is defined once, where everybody who names it can import it.
var Price = task.Define[order, int]("orders.price")

func ExampleDefine() {
	fmt.Println(Price.Name(), Price.Queue())
	// Output: orders.price orders
}

func ExampleTask_OnQueue() {
	render := task.Define[order, []byte]("orders.render").OnQueue("gpu")
	fmt.Println(render.Queue())
	// Output: gpu
}

func ExampleError() {
	declined := errors.New("the card was declined")
	charge := func() error {
		return &task.Error{Type: "card_declined", Err: declined, NonRetryable: true, Details: map[string]int{"code": 51}}
	}
	err := fmt.Errorf("order 7: %w", charge())
	var why *task.Error
	fmt.Println(errors.As(err, &why) && why.NonRetryable, errors.Is(err, declined))
	fmt.Println(err)
	// Output:
	// true true
	// order 7: card_declined: the card was declined
}

func ExampleError_retryAfter() {
	err := &task.Error{Type: "bank_busy", Message: "try later", RetryAfter: 30 * time.Second}
	fmt.Println(err)
	// Output: bank_busy: try later
}

// The context that a test hands to a task's function.
func attempt() context.Context {
	return task.WithAttempt(context.Background(), &task.Attempt{
		Sealed: []byte("a sealed token"), Workflow: "order-7", Component: "price", Task: Price.Name(), Number: 2,
		IdempotencyKey: "order-7/r3", TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Context:       json.RawMessage(`{"tenant": "blue"}`),
		LastHeartbeat: json.RawMessage(`{"page": 4}`),
		Heartbeat:     func(details json.RawMessage) error { fmt.Printf("beat %s\n", details); return nil },
		Logger:        slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	})
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func ExampleWithAttempt() {
	price := func(ctx context.Context, o order) (string, error) {
		return fmt.Sprintf("%d x %s, once per %s", o.Count, o.SKU, task.IdempotencyKey(ctx)), nil
	}
	fmt.Println(price(attempt(), order{"mug", 2}))
	// Output: 2 x mug, once per order-7/r3 <nil>
}

func ExampleWorkflowID() {
	ctx := attempt()
	fmt.Println(task.WorkflowID(ctx), task.Component(ctx), task.Number(ctx))
	// Output: order-7 price 2
}

func ExampleComponent() {
	fmt.Println(task.Component(attempt()))
	// Output: price
}

func ExampleNumber() {
	if task.Number(attempt()) > 1 {
		fmt.Println("it was tried before")
	}
	// Output: it was tried before
}

func ExampleIdempotencyKey() {
	fmt.Println(task.IdempotencyKey(attempt())) // for systems that drop repetitions
	// Output: order-7/r3
}

func ExampleTraceParent() {
	fmt.Println(task.TraceParent(attempt()))
	// Output: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
}

func ExampleValue() {
	tenant, ok := task.Value[string](attempt(), "tenant")
	fmt.Println(tenant, ok)
	// Output: blue true
}

type progress struct {
	Page int `json:"page"`
}

func ExampleHeartbeat() {
	ctx := attempt()
	if err := task.Heartbeat(ctx, progress{Page: 5}); err != nil {
		return // the attempt is to stop
	}
	// Output: beat {"page":5}
}

func ExampleLastHeartbeat() {
	from, ok := task.LastHeartbeat[progress](attempt()) // of the attempt before
	fmt.Println(from.Page, ok)
	// Output: 4 true
}

func ExampleLogger() {
	task.Logger(attempt()).Info("priced", "cents", 250)
	// Output: level=INFO msg=priced workflow=order-7 component=price task=orders.price attempt=2 cents=250
}

func ExampleToken() {
	// A function that leaves its work to somebody else tells them the token.
	approve := func(ctx context.Context, _ order) (bool, error) {
		fmt.Println("POST /v1/tasks/" + task.Token(ctx) + "/complete")
		return false, task.ErrPending
	}
	_, err := approve(attempt(), order{})
	fmt.Println(errors.Is(err, task.ErrPending))
	// Output:
	// POST /v1/tasks/tYSBzZWFsZWQgdG9rZW4/complete
	// true
}

func ExampleTask_Name() {
	fmt.Println(Price.Name())
	// Output: orders.price
}

func ExampleTask_Queue() {
	fmt.Println(Price.Queue()) // what the name begins with
	// Output: orders
}
