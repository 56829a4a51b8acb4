package main

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Workload is the shape of a workflow, the same for every engine. A step takes an
// integer and returns it plus one. A chain passes the value from step to step; a
// fan-out gives 0 to each of its parallel steps and adds up what they return.
type Workload struct {
	Name   string
	Steps  int
	FanOut bool
	Note   string
}

// want returns the workflow's result, which proves that each step counted once.
func (w Workload) want() int { return w.Steps }

// workloads are in the order of the report.
var workloads = []Workload{
	{Name: "chain10", Steps: 10, Note: "10 durable steps, one after the other"},
	{Name: "chain10-local", Steps: 10, Note: "Temporal only: chain10 of local activities, which are durable at the end of a workflow task"},
	{Name: "chain10-calls", Steps: 10, Note: "Restate only: 10 calls from service to service, one after the other"},
	{Name: "chain10-wf", Steps: 10, Note: "Restate only: chain10 in a Workflow, whose id makes a start idempotent"},
	{Name: "fanout100", Steps: 100, FanOut: true, Note: "100 parallel durable steps and a join"},
	{Name: "single", Steps: 1, Note: "1 durable step"},
}

// workload returns a workload by its name, which a driver lists in Workloads.
func workload(name string) (Workload, error) {
	i := workloadIndex(name)
	if i < 0 {
		return Workload{}, fmt.Errorf("there is no workload %q", name)
	}
	return workloads[i], nil
}

// workloadIndex returns the workload's place in the report, -1 for an unknown one.
func workloadIndex(name string) int {
	return slices.IndexFunc(workloads, func(w Workload) bool { return w.Name == name })
}

// stepsExecuted counts executions of stepBody.
var stepsExecuted atomic.Int64

// stepBody is the work of a step: almost nothing, so that the engine is measured.
func stepBody(i int) int {
	stepsExecuted.Add(1)
	return i + 1
}
