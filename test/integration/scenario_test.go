//go:build integration

package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// chain is a definition of n steps, one after the other, of one task.
func chain(n int, task string) object {
	components := object{}
	for i := range n {
		step := object{"step": task}
		if i > 0 {
			step["after"] = fmt.Sprintf("s%d", i)
		}
		components[fmt.Sprintf("s%d", i+1)] = step
	}
	return object{"name": fmt.Sprintf("chain%d", n), "components": components, "outputs": object{"end": fmt.Sprintf("s%d", n)}}
}

func TestAChainRunsToItsEnd(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	o := d.api.startAndWait("chain", chain(10, "shop.add"), 0)
	wantResult(t, o.Results, "end", "10")
	if calls := d.shop.seen("shop.add"); len(calls) != 10 {
		t.Errorf("10 steps took %d attempts", len(calls))
	}
	types := d.api.types("chain")
	for _, want := range []string{"WorkflowStarted", "RunnableDispatched", "RunnableCompleted", "InputSettled", "WorkflowIdle"} {
		if !slices.Contains(types, want) {
			t.Errorf("the history has no %s: %v", want, types)
		}
	}
}

func TestAJoinWaitsForARetriedArm(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	definition := object{
		"name": "join",
		"components": object{
			"a":    object{"step": "shop.add"},
			"b":    object{"step": "shop.flaky"},
			"both": object{"expr": "input.a * 100 + input.b", "in": object{"a": "a", "b": "b"}},
		},
		"policies": []object{{"match": object{"name": "b"}, "max_retries": 3, "backoff": "linear", "base_delay": "50ms"}},
	}
	o := d.api.startAndWait("join", definition, 6)
	wantResult(t, o.Results, "both", "707")
	calls := d.shop.seen("shop.flaky")
	if len(calls) != 3 {
		t.Fatalf("the failing arm took %d attempts, want 3", len(calls))
	}
	for i, c := range calls {
		if c.Attempt != fmt.Sprint(i+1) || c.Key != calls[0].Key || c.Key == "" {
			t.Errorf("attempt %d came as %+v", i+1, c)
		}
	}
}

func TestATimerFires(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	definition := object{
		"name": "timer",
		"components": object{
			"a":    object{"step": "shop.add"},
			"nap":  object{"sleep": "2s", "after": "a"},
			"last": object{"step": "shop.add", "after": "nap"},
		},
	}
	began := time.Now()
	o := d.api.startAndWait("timer", definition, 1)
	took := time.Since(began)
	wantResult(t, o.Results, "last", "3")
	if took < 2*time.Second || took > 20*time.Second {
		t.Errorf("a sleep of 2 s took %s", took)
	}
}

func TestEveryServiceMayBeRestarted(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	for _, name := range []string{"planner-1", "executor", "gateway", "readiness"} {
		t.Run(name, func(t *testing.T) {
			id := "restart-" + name
			definition := chain(3, "shop.add")
			definition["components"].(object)["s2"] = object{"sleep": "1s", "after": "s1"}
			d.api.start(id, definition, 0)
			d.processes[name].stop(t)
			began := time.Now()
			d.processes[name].start(t)
			eventually(t, readyLimit, "the workflow ends after a restart of "+name, func() error {
				results, err := d.api.drained(id, "idle")
				if err == nil {
					wantResult(t, results, "end", "2")
				}
				return err
			})
			t.Logf("%s: %s from its restart to the end of the workflow", name, time.Since(began).Round(time.Millisecond))
		})
	}
}
