package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	restate "github.com/restatedev/sdk-go"
)

// restateServices are the worker's handlers: each workload is a handler of Bench.
func restateServices() []restate.ServiceDefinition {
	bench := restate.NewService("Bench").
		Handler("single", restate.NewServiceHandler(times(1, restateChain))).
		Handler("chain10", restate.NewServiceHandler(times(10, restateChain))).
		Handler("fanout100", restate.NewServiceHandler(times(100, restateFanOut))).
		Handler(restateName("chain10-calls"), restate.NewServiceHandler(times(10, restateCalls)))
	step := restate.NewService("Step").
		Handler("run", restate.NewServiceHandler(func(_ restate.Context, v int) (int, error) { return stepBody(v), nil }))
	workflow := restate.NewWorkflow("BenchWorkflow").
		Handler("run", restate.NewWorkflowHandler(func(ctx restate.WorkflowContext, _ int) (int, error) { return restateChain(ctx, 10) }))
	return []restate.ServiceDefinition{bench, step, workflow}
}

// times makes a handler, which ignores its input, of a function that runs n steps.
func times(n int, f func(restate.Context, int) (int, error)) func(restate.Context, int) (int, error) {
	return func(ctx restate.Context, _ int) (int, error) { return f(ctx, n) }
}

func restateChain(ctx restate.Context, n int) (v int, err error) {
	for range n {
		v, err = restate.Run(ctx, func(restate.RunContext) (int, error) { return stepBody(v), nil })
		if err != nil {
			return 0, err
		}
	}
	return v, nil
}

func restateFanOut(ctx restate.Context, n int) (int, error) {
	steps := make([]restate.RunAsyncFuture[int], n)
	for i := range steps {
		steps[i] = restate.RunAsync(ctx, func(restate.RunContext) (int, error) { return stepBody(0), nil })
	}
	sum := 0
	for _, step := range steps {
		v, err := step.Result()
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

func restateCalls(ctx restate.Context, n int) (v int, err error) {
	for range n {
		if v, err = restate.Service[int](ctx, "Step", "run").Request(v); err != nil {
			return 0, err
		}
	}
	return v, nil
}

// restateName returns a workload's handler: names of handlers have no hyphens.
func restateName(workload string) string { return strings.ReplaceAll(workload, "-", "_") }

// npmVersion returns the version of the npm package that holds a binary.
func npmVersion(binary string) string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(binary), "..", "package.json"))
	if err != nil {
		return "of unknown version"
	}
	var pkg struct{ Version string }
	if err := json.Unmarshal(text, &pkg); err != nil {
		return "of unknown version"
	}
	return pkg.Version
}
