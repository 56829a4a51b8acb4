package main

import (
	"strings"
	"testing"
	"time"
)

func TestTheQuietestRunsStandForACombination(t *testing.T) {
	run := func(perSecond, others float64) Result {
		return Result{
			Driver: "heddle", Workload: "chain10", Concurrency: 16, Engine: Description{Durability: SurvivesProcess},
			WorkflowsPerSecond: perSecond, OtherCores: others, Noisy: others > noisyCores,
		}
	}
	rows := combine([]Result{run(10, 1.5), run(300, 0.1), run(100, 0), run(200, 0.3)}, 3)
	if len(rows) != 1 {
		t.Fatalf("%d rows, want 1", len(rows))
	}
	text := tables(rows)
	for _, want := range []string{"200 (100–300)", "| process ", "| 3 (1 noisy) |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
}

func TestRowsAreInTheOrderOfWorkloadsAndClients(t *testing.T) {
	var all []Result
	for _, w := range []string{"single", "chain10"} {
		for _, c := range []int{128, 1} {
			all = append(all, Result{Driver: "dbos", Workload: w, Concurrency: c})
		}
	}
	var order []combination
	for _, r := range combine(all, 1) {
		order = append(order, r.combination)
	}
	want := []combination{{"dbos", "", "chain10", 1}, {"dbos", "", "chain10", 128}, {"dbos", "", "single", 1}, {"dbos", "", "single", 128}}
	for i := range want {
		if order[i] != want[i] {
			t.Errorf("row %d is %v, want %v", i, order[i], want[i])
		}
	}
}

func TestFailedRunsAreShown(t *testing.T) {
	text := tables(combine([]Result{{Driver: "river", Workload: "single", Concurrency: 1, Failed: "no server"}}, 3))
	if !strings.Contains(text, "river with 1 clients failed: no server") || !strings.Contains(text, "0, 1 failed") {
		t.Errorf("the failure is missing:\n%s", text)
	}
}

func TestLatencyQuantiles(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i)*time.Millisecond)
	}
	if got, want := newLatency(times), (Latency{P50: 51, P90: 91, P99: 100, Max: 100, Mean: 50.5}); got != want {
		t.Errorf("latency %+v, want %+v", got, want)
	}
}

func TestEveryDriverRunsKnownWorkloads(t *testing.T) {
	for _, name := range driverNames() {
		d, err := newDriver(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range d.Workloads() {
			if _, err := workload(w); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
