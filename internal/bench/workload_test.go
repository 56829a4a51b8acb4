package bench

import (
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/bench/floor"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

func TestEveryWorkloadIsAValidDefinition(t *testing.T) {
	for _, name := range append(Workloads, "idle") {
		w, err := Find(name)
		if name == "idle" {
			w, err = idleWorkload(), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		def, err := definition.Parse(w.Definition)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		graph, err := definition.Compile(def)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		steps := 0
		for _, c := range graph.Components {
			if c.Kind == policy.KindStep {
				if steps++; c.Within >= 0 {
					steps += 10_000 - 1 // it runs for each element
				}
				if c.Queue != Queue {
					t.Errorf("%s: step %s goes to the queue %s, want %s", name, c.Name, c.Queue, Queue)
				}
			}
		}
		if w.Fed {
			steps = len(graph.Components)
		}
		if steps != w.Steps || def.Name != w.DefinitionName() {
			t.Errorf("%s: %d steps in %s, want %d in %s", name, steps, def.Name, w.Steps, w.DefinitionName())
		}
	}
	if _, err := Find("none"); err == nil {
		t.Error("an unknown workload was found")
	}
}

func TestTheFloorKnowsEveryWorkload(t *testing.T) {
	known := map[string]bool{}
	for _, w := range floor.Workloads() {
		known[string(w)] = true
	}
	for _, name := range Workloads {
		if w, err := Find(name); err != nil || !known[name] && !w.Fed { // what is fed runs no tasks, and has no floor
			t.Errorf("the floor does not know %s", name)
		}
	}
}

func TestAFigureCountsStepsAndOrdersLatencies(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	w := Workload{Name: "chain10", Steps: 10}
	f := summarize(w, 2, 2*time.Second, []sample{{latencies: []time.Duration{ms(9), ms(1)}}, {latencies: []time.Duration{ms(5), ms(7)}, errors: 3}})
	if f.Workflows != 4 || f.WorkflowsPS != 2 || f.StepsPS != 20 || f.P50 != 7 || f.P99 != 9 || f.Errors != 3 {
		t.Errorf("got %+v", f)
	}
	f.compare(Figure{StepsPS: 60, P50: 3.5})
	if f.OfFloor != 0.333 || f.P50OfFloor != 2 {
		t.Errorf("compared: %+v", f)
	}
}
