package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/heddle-run/heddle/internal/bench"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

const definitionName = "torture"

// definition has steps of a worker and of the executor, a retry, a timer, joins, both branches of a condition:
// whatever must survive.
const definition = `
name: torture
version: "1"
components:
  a:    {step: torture.inc, input: "input.n"}
  b:    {step: torture.flaky, after: a}
  nap:  {sleep: 20ms, after: a}
  call: {step: http.request, params: {url: "URL", map: "input.body"}, input: "{body: input}", after: a}
  sum:  {step: torture.sum, in: {b: b, nap: nap, call: call}}
  even: {condition: "input % 2 == 0", after: sum}
  big:  {expr: "input + 1000000", after: even}
  odd:  {step: torture.inc, else: even}
  end:  {expr: "input", after: {any: [big, odd]}}
outputs: {end: end}
policies:
  - match: {task: torture.flaky}
    max_retries: 3
    backoff: linear
    base_delay: 30ms
  - match: {task: http.request}
    max_retries: 10
    backoff: linear
    base_delay: 100ms
options: {close: on_idle}
`

// input is what a workflow is started with.
type input struct {
	N int `json:"n"`
}

// expected is the result of the workflow that is started with n, and how many
// steps complete on the way.
func expected(n int) (result string, steps int) {
	a := n + 1
	sum := 2*a + a + called(a)
	if sum%2 == 0 {
		return strconv.Itoa(sum + 1_000_000), 4
	}
	return strconv.Itoa(sum + 1), 5
}

// called is what the HTTP service that the executor calls makes of n.
func called(n int) int { return 7 * n }

type sumInput struct {
	B    int `json:"b"`
	Nap  int `json:"nap"`
	Call int `json:"call"`
}

var errFlaky = errors.New("flaky on purpose")

// serve runs the steps, outside of the processes that are tortured, until ctx
// ends.
func (x *executions) serve(ctx context.Context, brokers []string) error {
	w, err := worker.New(worker.Options{Brokers: brokers, Slots: 64, Name: "torture", DrainLimit: 5 * time.Second, Logger: quiet})
	if err != nil {
		return err
	}
	worker.Handle(w, task.Define[int, int]("torture.inc"), func(ctx context.Context, n int) (int, error) {
		return x.ran(ctx, n+1), nil
	})
	worker.Handle(w, task.Define[int, int]("torture.flaky"), func(ctx context.Context, n int) (int, error) {
		if n%5 == 0 && task.Number(ctx) == 1 {
			x.failed(ctx)
			return 0, errFlaky
		}
		return x.ran(ctx, 2*n), nil
	})
	worker.Handle(w, task.Define[sumInput, int]("torture.sum"), func(ctx context.Context, in sumInput) (int, error) {
		return x.ran(ctx, in.B+in.Nap+in.Call), nil
	})
	// What the bench leaves open when it ends is finished here.
	worker.Handle(w, task.Define[json.RawMessage, json.RawMessage](bench.Task), func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	})
	return w.Run(ctx)
}
