package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/bench"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

const definitionName = "torture"

// definition has steps, a retry, a timer, joins, both branches of a condition:
// whatever must survive.
const definition = `
name: torture
version: "1"
components:
  a:    {step: torture.inc, input: "input.n"}
  b:    {step: torture.flaky, after: a}
  nap:  {sleep: 20ms, after: a}
  sum:  {step: torture.sum, in: {b: b, nap: nap}}
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
options: {close: on_idle}
`

// input is what a workflow is started with.
type input struct {
	N int `json:"n"`
}

// expected is the result of the workflow that is started with n, and how many
// steps complete on the way.
func expected(n int) (result string, steps int) {
	sum := 3 * (n + 1)
	if sum%2 == 0 {
		return strconv.Itoa(sum + 1_000_000), 3
	}
	return strconv.Itoa(sum + 1), 4
}

type sumInput struct {
	B   int `json:"b"`
	Nap int `json:"nap"`
}

var errFlaky = errors.New("flaky on purpose")

// executions counts attempts that ran, repeated ones too.
type executions struct{ n atomic.Int64 }

// serve runs the steps, outside of the process that is killed, until ctx ends.
func (x *executions) serve(ctx context.Context, brokers []string) error {
	w, err := worker.New(worker.Options{Brokers: brokers, Slots: 64, Name: "torture", DrainLimit: 5 * time.Second, Logger: quiet})
	if err != nil {
		return err
	}
	worker.Handle(w, task.Define[int, int]("torture.inc"), func(_ context.Context, n int) (int, error) {
		x.n.Add(1)
		return n + 1, nil
	})
	worker.Handle(w, task.Define[int, int]("torture.flaky"), func(ctx context.Context, n int) (int, error) {
		x.n.Add(1)
		if n%5 == 0 && task.Number(ctx) == 1 {
			return 0, errFlaky
		}
		return 2 * n, nil
	})
	worker.Handle(w, task.Define[sumInput, int]("torture.sum"), func(_ context.Context, in sumInput) (int, error) {
		x.n.Add(1)
		return in.B + in.Nap, nil
	})
	// What the bench leaves open when it ends is finished here.
	worker.Handle(w, task.Define[json.RawMessage, json.RawMessage](bench.Task), func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	})
	return w.Run(ctx)
}
