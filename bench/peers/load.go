package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// workflowTimeout bounds one workflow.
const workflowTimeout = 90 * time.Second

// load is a closed loop: each client starts its next workflow when the last has ended.
type load struct {
	driver   Driver
	workload Workload
	stopping context.CancelFunc
	clients  sync.WaitGroup

	done       atomic.Int64
	failed     atomic.Int64
	firstError atomic.Pointer[string]
	samples    [][]sample // by client, each written by that client only
}

// sample is a workflow that ended well.
type sample struct {
	end     time.Time
	latency time.Duration
}

// startLoad starts the clients.
func startLoad(ctx context.Context, d Driver, w Workload, clients int) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{driver: d, workload: w, stopping: cancel, samples: make([][]sample, clients)}
	run := time.Now().UnixNano()
	for c := range clients {
		l.clients.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.runOne(ctx, c, fmt.Sprintf("%x-%d-%d", run, c, i))
			}
		})
	}
	return l
}

// runOne runs one workflow of a client. One that the end of the load interrupts does not count.
func (l *load) runOne(ctx context.Context, client int, id string) {
	began := time.Now()
	err := runWorkflow(ctx, l.driver, l.workload, id)
	end := time.Now()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		l.failed.Add(1)
		text := err.Error()
		l.firstError.CompareAndSwap(nil, &text)
		time.Sleep(50 * time.Millisecond) // a server that refuses everything is not to be flooded
		return
	}
	l.samples[client] = append(l.samples[client], sample{end, end.Sub(began)})
	l.done.Add(1)
}

// runWorkflow runs one workflow and checks its result.
func runWorkflow(ctx context.Context, d Driver, w Workload, id string) error {
	ctx, cancel := context.WithTimeout(ctx, workflowTimeout)
	defer cancel()
	got, err := d.RunWorkflow(ctx, w.Name, id)
	if err == nil && got != w.want() {
		err = fmt.Errorf("workflow %s returned %d, want %d", id, got, w.want())
	}
	return err
}

// wait returns after the least time once enough more workflows have ended, and in any
// case after the most time. It returns how long it waited.
func (l *load) wait(ctx context.Context, least, most time.Duration, enough int) time.Duration {
	began, before := time.Now(), l.done.Load()
	for {
		time.Sleep(10 * time.Millisecond)
		waited := time.Since(began)
		if waited >= most || ctx.Err() != nil || waited >= least && l.done.Load()-before >= int64(enough) {
			return waited
		}
	}
}

// stop ends the clients.
func (l *load) stop() error {
	l.stopping()
	return within(20*time.Second, "stop the load generator", func() error {
		l.clients.Wait()
		return nil
	})
}

// latencies returns those of the workflows that ended in a window. Call it after stop.
func (l *load) latencies(from, to time.Time) ([]time.Duration, error) {
	var all []time.Duration
	for _, samples := range l.samples {
		for _, s := range samples {
			if s.end.After(from) && !s.end.After(to) {
				all = append(all, s.latency)
			}
		}
	}
	if len(all) == 0 {
		err := errors.New("no workflow ended in the window")
		if first := l.firstError.Load(); first != nil {
			err = fmt.Errorf("%w; the first error: %s", err, *first)
		}
		return nil, err
	}
	return all, nil
}
