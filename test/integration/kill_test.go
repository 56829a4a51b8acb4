//go:build integration

package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// takeoverLimit is generous: a killed planner's successor waits out the lease.
const takeoverLimit = 90 * time.Second

func TestAnotherPlannerTakesOverFromAKilledOne(t *testing.T) {
	t.Parallel()
	d := deploy(t, 2)
	h := d.hear()
	const workflows = 40
	definition := chain(4, "shop.add")
	definition["components"].(object)["s2"] = object{"sleep": "3s", "after": "s1"}
	for i := range workflows {
		d.api.start(fmt.Sprintf("move-%d", i), definition, i)
	}
	before := d.owners(workflows)
	if len(before) != 2 {
		t.Fatalf("two planners should share the partitions, owners are %v", before)
	}

	h.vanishes("partition ")
	victim := d.processes["planner-1"]
	killed := time.Now()
	victim.kill(t)
	d.flood(waiting(t))
	eventually(t, takeoverLimit, "every partition has an owner that decides", func() error {
		owners := d.owners(workflows)
		for i := range partitions {
			if err := d.decides(fmt.Sprintf("after-%d-%d", time.Since(killed).Milliseconds(), i)); err != nil {
				return err
			}
		}
		if len(owners) != 1 {
			return fmt.Errorf("owners are %v", owners)
		}
		return nil
	})
	t.Logf("TAKEOVER: %s from kill -9 until the other planner owned and decided for every partition", time.Since(killed).Round(time.Millisecond))
	d.ready()
	h.vanishes("partition ")
	d.tellTakeover(h, killed)

	for i := range workflows {
		id := fmt.Sprintf("move-%d", i)
		eventually(t, takeoverLimit, "nothing is lost", func() error {
			results, err := d.api.drained(id, "idle")
			if err == nil {
				wantResult(t, results, "end", fmt.Sprint(i+3))
				d.wantCompleted(id, 4)
			}
			return err
		})
	}
	t.Logf("all %d workflows ended %s after kill -9", workflows, time.Since(killed).Round(time.Millisecond))
}

// wantCompleted fails the test unless the workflow ran just so many activations.
func (d *deployment) wantCompleted(id string, n int) {
	d.t.Helper()
	var w workflow
	if err := d.api.get("/v1/workflows/"+id, &w); err != nil {
		d.t.Fatal(err)
	}
	if w.Counts["completed"] != n {
		d.t.Errorf("%s completed %d activations, want %d: %v", id, w.Counts["completed"], n, w.Counts)
	}
}

// owners are the planners that own the workflows of a test, with how many.
func (d *deployment) owners(workflows int) map[string]int {
	found := map[string]int{}
	for i := range workflows {
		var w workflow
		if err := d.api.get(fmt.Sprintf("/v1/workflows/move-%d", i), &w); err == nil {
			found[w.Owner.Instance]++
		}
	}
	return found
}

// decides starts a workflow and waits for the planner's word.
func (d *deployment) decides(id string) error {
	body := object{"definition": chain(1, "shop.add"), "input": 1}
	return d.api.do("PUT", "/v1/workflows/"+id+"?wait=accepted", body, nil)
}

func TestAttemptsOfAKilledExecutorRunAgainWithoutARetryPolicy(t *testing.T) {
	t.Run("that nobody was told of", func(t *testing.T) { t.Parallel(); killExecutor(t, false) })
	t.Run("that heartbeats guard", func(t *testing.T) { t.Parallel(); killExecutor(t, true) })
}

// killExecutor kills an executor in the middle of its attempts: soon after they
// began, or once the planner knows that it has them.
func killExecutor(t *testing.T, notified bool) {
	d := deploy(t, 1)
	const workflows = 8
	for i := range workflows {
		d.api.start(lostID(i), chain(1, "shop.slow"), i)
	}
	eventually(t, readyLimit, "all attempts run", func() error {
		if n := len(d.shop.seen("shop.slow")); n != workflows {
			return fmt.Errorf("%d run", n)
		}
		return nil
	})
	for i := range workflows {
		eventually(t, readyLimit, "heartbeats guard the attempts", func() error {
			if notified && !slices.Contains(d.api.types(lostID(i)), "RunnableNotified") {
				return fmt.Errorf("the planner does not know who has that of %s", lostID(i))
			}
			return nil
		})
	}

	d.processes["executor"].kill(t)
	killed := time.Now()
	d.shop.open()
	d.processes["executor"].start(t)
	for i := range workflows {
		eventually(t, takeoverLimit, lostID(i)+" ends", func() error {
			results, err := d.api.drained(lostID(i), "idle")
			if err == nil {
				wantResult(t, results, "end", fmt.Sprint(i+1))
			}
			return err
		})
	}
	t.Logf("LOST EXECUTOR: all %d attempts ran again and ended %s after kill -9", workflows, time.Since(killed).Round(time.Millisecond))
	if n := len(d.shop.seen("shop.slow")); n < 2*workflows {
		t.Errorf("%d attempts in all: some did not run again", n)
	}
}

func lostID(i int) string { return fmt.Sprintf("lost-%d", i) }
