package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/task"
)

func TestMain(m *testing.M) { devtest.Main(m) }

// A definition whose second step a person does.
const offer = `
name: offer
components:
  total:  {expr: "input.price * input.count"}
  accept: {step: human.accept, after: total, policy: {execution_mode: external}}
  answer: {expr: "input.yes ? 'sold' : 'declined'", after: accept}
outputs: {total: total, answer: answer}
`

// One that needs nobody.
const double = `{"name": "double", "components": {"twice": {"expr": "input * 2"}}}`

type order struct {
	Price int `json:"price"`
	Count int `json:"count"`
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// connect is what all examples begin with; ExampleNew tells it.
func connect() (context.Context, *client.Client) {
	ctx := context.Background()
	return ctx, must(client.New(ctx, client.Options{URL: devtest.Running().URL}))
}

// waiting starts an offer and returns the open attempt that waits for a person.
func waiting(ctx context.Context, c *client.Client, id string) client.Runnable {
	must(c.Define(ctx, "offer", []byte(offer)))
	must(c.Start(ctx, "offer", order{Price: 20, Count: 3}, client.StartOptions{ID: id}))
	open := must(c.Runnables(ctx, id, client.PageOptions{Status: client.RunnableActive}))
	return open.Items[0]
}

func ExampleNew() {
	ctx := context.Background()
	c, err := client.New(ctx, client.Options{URL: devtest.Running().URL}) // without a URL it finds a running `heddle dev`
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.Get(ctx, "nobody")
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output: true
}

func ExampleClient_Start() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 21, client.StartOptions{
		ID: "start-1", IdempotencyKey: "order-7", By: client.By{Who: "ann", Why: "an example"},
	}))
	fmt.Println(run.ID, must(client.Result[int](ctx, run, "twice")))

	_, err := c.Start(ctx, double, 22, client.StartOptions{ID: "start-1"})
	fmt.Println(errors.Is(err, client.ErrAlreadyStarted))
	again := must(c.Start(ctx, double, 22, client.StartOptions{ID: "start-1", IfExists: client.ExistsUse}))
	fmt.Println(again.Started.Status)
	// Output:
	// start-1 42
	// true
	// idle
}

func ExampleClient_Start_wait() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 4, client.StartOptions{Wait: client.UntilDrained}))
	results := must(run.Results(ctx)) // came with the start's answer
	fmt.Printf("%s\n", results["twice"])
	// Output: 8
}

func ExampleResult() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 3, client.StartOptions{}))
	n, err := client.Result[int](ctx, run, "twice") // waits
	fmt.Println(n, err)
	// Output: 6 <nil>
}

func ExampleFailedError() {
	ctx, c := connect()
	defer c.Close()
	open := waiting(ctx, c, "failed-1")
	must(c.Fail(ctx, open.Token, &task.Error{Type: "no_stock", Message: "none left", NonRetryable: true}))
	_, err := client.Result[string](ctx, c.Run("failed-1"), "answer")
	var failed *client.FailedError
	if errors.As(err, &failed) {
		fmt.Println(failed.Workflow.Status)
	}
	var why *task.Error
	if errors.As(err, &why) {
		fmt.Println(why.Type)
	}
	// Output:
	// failed
	// no_stock
}

func ExampleClient_Run() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, double, 5, client.StartOptions{ID: "run-1"}))
	w := must(c.Run("run-1").Wait(ctx))
	fmt.Println(w.Status, w.Counts.Completed)
	// Output: idle 0
}

func ExampleRun_Wait() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 5, client.StartOptions{}))
	w := must(run.Wait(ctx))
	fmt.Println(w.Status)
	// Output: idle
}

func ExampleRun_Results() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 5, client.StartOptions{}))
	for name, value := range must(run.Results(ctx)) { // waits
		fmt.Printf("%s: %s\n", name, value)
	}
	// Output: twice: 10
}

func ExampleRun_Events() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, double, 5, client.StartOptions{}))
	for e, err := range run.Events(ctx) { // what was, then live
		if err != nil {
			log.Fatal(err)
		}
		if e.Type == "WorkflowIdle" {
			fmt.Println("idle")
			break
		}
	}
	// Output: idle
}

func ExampleClient_Input() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, double, 1, client.StartOptions{ID: "input-1"}))
	must(c.Input(ctx, "input-1", 50, client.InputOptions{IdempotencyKey: "page-2"}))
	must(c.Run("input-1").Wait(ctx))
	fmt.Printf("%s\n", must(c.AllResults(ctx, "input-1")).Results["twice"])
	// Output: [2 100]
}

func ExampleClient_InputAndWait() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, double, nil, client.StartOptions{ID: "input-2"}))
	run := must(c.InputAndWait(ctx, "input-2", 6, client.InputOptions{}))
	fmt.Println(must(client.Result[int](ctx, run, "twice")))
	// Output: 12
}

// It waits for a signal from each of two people.
const poll = `{"name": "poll", "components": {
	"ann": {"signal": "vote", "key": "input[0]"}, "bob": {"signal": "vote", "key": "input[1]"},
	"both": {"in": {"a": "ann", "b": "bob"}, "expr": "input.a && input.b"}}}`

func ExampleClient_Signal() {
	ctx, c := connect()
	defer c.Close()
	must(c.Start(ctx, poll, []string{"ann", "bob"}, client.StartOptions{ID: "poll-1"}))
	must(c.Signal(ctx, "poll-1", "vote", true, client.SignalOptions{Key: "bob"}))
	must(c.Signal(ctx, "poll-1", "vote", true, client.SignalOptions{Key: "ann"}))
	fmt.Println(must(client.Result[bool](ctx, c.Run("poll-1"), "both")))
	// Output: true
}

func ExampleRun_Signal() {
	ctx, c := connect()
	defer c.Close()
	run := must(c.Start(ctx, poll, []string{"ann", "bob"}, client.StartOptions{ID: "poll-2"}))
	w := must(run.Signal(ctx, "vote", true, client.SignalOptions{Key: "eve"}))
	fmt.Println(w.Status, w.Counts.Waiting)
	// Output: running 2
}

func ExampleClient_Pause() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "pause-1")
	w := must(c.Pause(ctx, "pause-1", client.By{Who: "ann", Why: "the shop is closed"}))
	fmt.Println(w.Status)
	w = must(c.Resume(ctx, "pause-1", client.ResumeOptions{}))
	fmt.Println(w.Status)
	// Output:
	// paused
	// running
}

func ExampleClient_Resume() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "resume-1")
	must(c.Pause(ctx, "resume-1", client.By{}))
	w := must(c.Resume(ctx, "resume-1", client.ResumeOptions{
		Policies: []any{map[string]any{"match": map[string]any{"name": "accept"}, "max_retries": 5}},
		By:       client.By{Who: "ann"},
	}))
	fmt.Println(w.Status)
	// Output: running
}

func ExampleClient_Stop() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "stop-1")
	w := must(c.Stop(ctx, "stop-1", client.StopOptions{Drain: time.Minute}))
	fmt.Println(w.Status)
	w = must(c.Resume(ctx, "stop-1", client.ResumeOptions{}))
	fmt.Println(w.Status)
	// Output:
	// stopped
	// running
}

func ExampleClient_Cancel() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "cancel-1")
	w := must(c.Cancel(ctx, "cancel-1", client.By{Why: "the customer has left"}))
	fmt.Println(w.Status)
	// Output: cancelled
}

func ExampleClient_Delete() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "delete-1")
	err := c.Delete(ctx, "delete-1", true, client.By{}) // cancels it first
	fmt.Println(err)
	_, err = c.Get(ctx, "delete-1")
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output:
	// <nil>
	// true
}

func ExampleClient_Retry() {
	ctx, c := connect()
	defer c.Close()
	open := waiting(ctx, c, "retry-1")
	must(c.Fail(ctx, open.Token, errors.New("the line was busy")))
	w := must(c.Retry(ctx, "retry-1", client.RetryOptions{Component: "accept"}))
	fmt.Println(w.Status, w.Counts.Active)
	// Output: running 1
}

func ExampleClient_Skip() {
	ctx, c := connect()
	defer c.Close()
	open := waiting(ctx, c, "skip-1")
	must(c.Fail(ctx, open.Token, errors.New("nobody answers")))
	w := must(c.Skip(ctx, "skip-1", open.ID, client.By{Who: "ann"}))
	fmt.Println(w.Status, w.Counts.Skipped, w.Counts.Suppressed)
	// Output: idle 1 1
}

func ExampleClient_SetPolicies() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "policies-1")
	rules := []map[string]any{{"match": map[string]string{"name": "answer"}, "on_failure": "skip"}}
	w := must(c.SetPolicies(ctx, "policies-1", rules, client.By{Who: "ann"}))
	fmt.Println(w.Status)
	// Output: running
}

func ExampleClient_Migrate() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "migrate-1")
	must(c.Pause(ctx, "migrate-1", client.By{}))
	longer := strings.Replace(offer, "name: offer", "name: longer-offer", 1) + "  # a mail follows\n"
	longer = strings.Replace(longer, "outputs:", "  mail: {expr: \"'we are sorry'\", after: accept, when: \"!input.yes\"}\noutputs:", 1)
	must(c.Define(ctx, "longer-offer", []byte(longer)))
	w := must(c.Migrate(ctx, "migrate-1", "longer-offer", client.By{Who: "ann"}))
	fmt.Println(w.Status, w.Definition.Name)
	// Output: paused longer-offer
}

func ExampleClient_Checkpoint() {
	ctx, c := connect()
	defer c.Close()
	waiting(ctx, c, "checkpoint-1")
	w, err := c.Checkpoint(ctx, "checkpoint-1", client.By{Why: "before the update"})
	fmt.Println(w.Status, err)
	// Output: running <nil>
}

func ExampleClient_Complete() {
	ctx, c := connect()
	defer c.Close()
	open := waiting(ctx, c, "complete-1")
	must(c.Complete(ctx, open.Token, map[string]bool{"yes": true}))
	fmt.Println(must(client.Result[string](ctx, c.Run("complete-1"), "answer")))
	_, err := c.Complete(ctx, open.Token, nil)
	fmt.Println(errors.Is(err, client.ErrAttemptClosed))
	// Output:
	// sold
	// true
}

func ExampleClient_Fail() {
	ctx, c := connect()
	defer c.Close()
	open := waiting(ctx, c, "fail-1")
	w := must(c.Fail(ctx, open.Token, &task.Error{Type: "no_stock", Message: "none left"}))
	fmt.Println(w.Status, w.Failure.Error.Type)
	// Output: failed no_stock
}

func ExampleClient_Heartbeat() {
	ctx, c := connect()
	defer c.Close()
	open := waiting(ctx, c, "heartbeat-1")
	w, err := c.Heartbeat(ctx, open.Token, map[string]int{"read": 3})
	fmt.Println(w.Status, err)
	// Output: running <nil>
}
