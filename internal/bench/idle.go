package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// IdleFigure is what idle workflows cost.
type IdleFigure struct {
	Workflows        int     `json:"idle_workflows"`
	StartedPS        float64 `json:"started_per_s"`
	RSS              int64   `json:"rss_bytes"` // of this process, with everything in it
	HeapLive         int64   `json:"heap_live_bytes"`
	RSSPerWorkflow   float64 `json:"rss_bytes_per_workflow"` // beyond what it was before
	Disk             int64   `json:"disk_bytes"`
	BytesPerWorkflow float64 `json:"disk_bytes_per_workflow"`
	Restart          float64 `json:"restart_ms,omitempty"` // of the planner, on its stores, until it owns everything
	Restore          float64 `json:"restore_ms,omitempty"` // the same without its stores, from the changelog
	Errors           int     `json:"errors"`
}

// idleClients is how many workflows are started at a time.
const idleClients = 256

// Idle starts n workflows of one step that stay open when they are done, and
// tells what they cost then.
func Idle(ctx context.Context, t Target, n int, o Options, progress func(done int)) (IdleFigure, error) {
	o.Workload = idleWorkload()
	if err := t.prepare(ctx); err != nil {
		return IdleFigure{}, err
	}
	cl, err := t.Connect(ctx, o.Via, idleClients)
	if err != nil {
		return IdleFigure{}, err
	}
	defer cl.Close()
	f := IdleFigure{Workflows: n}
	err = t.working(ctx, idleClients, o.Logger, func(ctx context.Context) error {
		if _, err := cl.Define(ctx, o.Workload.DefinitionName(), o.Workload.Definition); err != nil {
			return err
		}
		before, err := settled(t)
		if err != nil {
			return err
		}
		began := time.Now()
		if f.Errors, err = startMany(ctx, cl, o.Workload, n, progress); err != nil {
			return err
		}
		f.StartedPS = round(float64(n)/time.Since(began).Seconds(), 1)
		if err := rest(ctx); err != nil {
			return err
		}
		after, err := settled(t)
		if err != nil {
			return err
		}
		f.weigh(before, after)
		return f.restart(ctx, t)
	})
	return f, err
}

// restart measures how long a planner takes to be back.
func (f *IdleFigure) restart(ctx context.Context, t Target) error {
	if t.Restart == nil {
		return nil
	}
	for _, m := range []struct {
		into *float64
		anew bool
	}{{&f.Restart, false}, {&f.Restore, true}} {
		took, err := t.Restart(ctx, m.anew)
		if err != nil {
			return err
		}
		*m.into = round(float64(took)/float64(time.Millisecond), 1)
	}
	return nil
}

func (f *IdleFigure) weigh(before, after weight) {
	f.RSS, f.HeapLive, f.Disk = after.rss, after.heap, after.disk
	if f.Workflows > 0 {
		f.RSSPerWorkflow = round(float64(after.rss-before.rss)/float64(f.Workflows), 1)
		f.BytesPerWorkflow = round(float64(after.disk-before.disk)/float64(f.Workflows), 1)
	}
}

// idleWorkload is a step whose workflow is idle afterwards, and open.
func idleWorkload() Workload {
	return define("idle", 1, map[string]component{"s": {Step: Task}}, map[string]any{"close": "never"})
}

// startMany starts n workflows and waits until each is idle.
func startMany(ctx context.Context, cl *client.Client, w Workload, n int, progress func(int)) (failed int, err error) {
	var next, done, bad atomic.Int64
	var first atomic.Pointer[error]
	var clients sync.WaitGroup
	for range min(idleClients, n) {
		clients.Go(func() {
			for ctx.Err() == nil && next.Add(1) <= int64(n) {
				run, err := cl.Start(ctx, w.DefinitionName(), Input{Item: "idle"}, client.StartOptions{Wait: client.UntilDrained})
				if err == nil {
					_, err = run.Wait(ctx)
				}
				if err != nil {
					bad.Add(1)
					first.CompareAndSwap(nil, &err)
				}
				if d := done.Add(1); progress != nil && d%1000 == 0 {
					progress(int(d))
				}
			}
		})
	}
	clients.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if failed := int(bad.Load()); failed == n {
		return failed, fmt.Errorf("no workflow became idle; the first error: %w", *first.Load())
	}
	return int(bad.Load()), nil
}

// idleFor is how long nothing happens before the workflows are weighed: what the
// last of them left on its way is written by then, and checkpointed.
const idleFor = 5 * time.Second

func rest(ctx context.Context) error {
	select {
	case <-time.After(idleFor):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// weight is what this process occupies.
type weight struct{ rss, heap, disk int64 }

// settled weighs after garbage was collected and given back.
func settled(t Target) (weight, error) {
	debug.FreeOSMemory()
	var w weight
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	w.heap = int64(stats.HeapAlloc)
	var err error
	if w.rss, err = residentBytes(); err != nil {
		return w, err
	}
	if t.Dir != "" {
		w.disk, err = DiskBytes(t.Dir)
	}
	return w, err
}
