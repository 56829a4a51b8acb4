package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
)

// longMap has a step for each element of a list, and collects what comes of them.
const longMap = `
name: long-map
components:
  lines: {map: "1..input", parallel: 20, do: {line: {step: test.sleep, params: {ms: 4}}}}
  all:   {reduce: lines.line, init: [], with: "append(acc, item.input)"}
  sum:   {reduce: lines.line, init: 0, with: "acc + item.input"}
outputs: {all: all, sum: sum}
`

// elements is how many elements a long map has here. HEDDLE_LONG=1 takes 100,000 (make long-map).
func elements() int {
	if os.Getenv("HEDDLE_LONG") != "" {
		return 100_000
	}
	return 5000
}

// longMaps is a deployment with workflows that go through long lists.
type longMaps struct {
	t   *testing.T
	ctx context.Context
	dev *dev.Dev
	cl  *client.Client
}

func startLongMaps(t *testing.T, o dev.Options) *longMaps {
	t.Helper()
	elsewhere(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	o.Partitions = 2
	d, err := dev.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	cl, err := client.New(ctx, client.Options{URL: d.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := cl.Define(ctx, "long-map", []byte(longMap)); err != nil {
		t.Fatal(err)
	}
	return &longMaps{t, ctx, d, cl}
}

// in is the same for a test within the test.
func (l *longMaps) in(t *testing.T) *longMaps { return &longMaps{t, l.ctx, l.dev, l.cl} }

// middle starts a workflow, and returns when some of its elements have ended.
func (l *longMaps) middle(id string) *client.Run {
	l.t.Helper()
	run, err := l.cl.Start(l.ctx, "long-map", elements(), client.StartOptions{ID: id})
	if err != nil {
		l.t.Fatal(err)
	}
	eventually(l.t, id+" is in the middle", func() bool { return l.get(id).Counts.Completed > uint64(elements()/5) })
	if w := l.get(id); w.Status != client.StatusRunning {
		l.t.Fatalf("%s is %s before anything was done to it", id, w.Status)
	}
	return run
}

func (l *longMaps) get(id string) *client.Workflow {
	l.t.Helper()
	w, err := l.cl.Get(l.ctx, id)
	if err != nil {
		l.t.Fatal(err)
	}
	return w
}

// ends waits for the end, and checks that each element has come to the reduce once, in its place.
func (l *longMaps) ends(run *client.Run) {
	l.t.Helper()
	w, err := run.Wait(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	n := elements()
	if w.Status != client.StatusIdle || w.Counts.Completed != uint64(n)+1 {
		l.t.Errorf("%s is %s with %+v", run.ID, w.Status, w.Counts)
	}
	results, err := run.Results(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	var all []int
	if err := json.Unmarshal(results["all"], &all); err != nil {
		l.t.Fatal(err)
	}
	for i, v := range all {
		if v != i+1 {
			l.t.Fatalf("element %d of the result is %d, want %d", i, v, i+1)
		}
	}
	if got, want := string(results["sum"]), strconv.Itoa(n*(n+1)/2); len(all) != n || got != want {
		l.t.Errorf("%d elements with the sum %s, want %d with %s", len(all), got, n, want)
	}
}

// The planner is killed in the middle of a long map, as kill -9 does: the next one goes on where it was.
func TestALongMapOutlivesItsPlanner(t *testing.T) {
	if !apart(t) {
		return
	}
	t.Setenv(asProgram, "1")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := startLongMaps(t, dev.Options{Planner: []string{own, "planner", "--log-level=error"}})
	run := l.middle("killed")
	if _, err := l.dev.KillPlanner(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := l.dev.StartService(l.ctx, dev.Planner); err != nil {
		t.Fatal(err)
	}
	l.ends(run)
	t.Logf("KILLED: %d elements ended %s after kill -9 in the middle", elements(), time.Since(killed).Round(time.Millisecond))
}

// Commands in the middle of a long map are answered at once: those who send them do not wait for its end.
func TestCommandsInTheMiddleOfALongMap(t *testing.T) {
	l := startLongMaps(t, dev.Options{})
	by := client.By{Who: "test"}
	answered := func(t *testing.T, name string, command func() (*client.Workflow, error)) *client.Workflow {
		t.Helper()
		sent := time.Now()
		w, err := command()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("ANSWERED: %s in %s, with %d elements done", name, time.Since(sent).Round(time.Microsecond), w.Counts.Completed)
		if w.Counts.Completed >= uint64(elements()) {
			t.Errorf("%s is answered when all is over", name)
		}
		return w
	}
	t.Run("pause", func(t *testing.T) {
		l := l.in(t)
		run := l.middle("paused")
		if w := answered(t, "pause", func() (*client.Workflow, error) { return l.cl.Pause(l.ctx, run.ID, by) }); w.Status != client.StatusPaused {
			t.Errorf("it is %s", w.Status)
		}
		eventually(t, "nothing is under way", func() bool { return l.get(run.ID).Counts.Active == 0 })
		if w := l.get(run.ID); w.Status != client.StatusPaused || w.Counts.Completed >= uint64(elements()) {
			t.Errorf("it is %s with %+v", w.Status, w.Counts)
		}
		answered(t, "resume", func() (*client.Workflow, error) { return l.cl.Resume(l.ctx, run.ID, client.ResumeOptions{By: by}) })
		l.ends(run)
	})
	t.Run("skip", func(t *testing.T) {
		l := l.in(t)
		run := l.middle("skipped")
		answered(t, "skip", func() (*client.Workflow, error) { return l.cl.Skip(l.ctx, run.ID, "r1", by) })
		w, err := run.Wait(l.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if w.Status != client.StatusIdle || w.Counts.Skipped != 1 || w.Counts.Suppressed != 2 || w.Counts.Completed >= uint64(elements()) {
			t.Errorf("it is %s with %+v", w.Status, w.Counts)
		}
		results, err := run.Results(l.ctx)
		if err != nil || fmt.Sprintf("%s", results) != "map[all:null sum:null]" {
			t.Errorf("its results are %s (%v)", results, err)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		l := l.in(t)
		run := l.middle("cancelled")
		answered(t, "cancel", func() (*client.Workflow, error) { return l.cl.Cancel(l.ctx, run.ID, by) })
		if w, err := run.Wait(l.ctx); err != nil {
			t.Error(err)
		} else if w.Status != client.StatusCancelled || w.Counts.Completed >= uint64(elements()) {
			t.Errorf("it is %s with %+v", w.Status, w.Counts)
		}
	})
}
