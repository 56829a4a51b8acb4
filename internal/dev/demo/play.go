package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
)

const (
	// playLimit bounds the whole play; it takes some ten seconds.
	playLimit = 2 * time.Minute

	// downFor is how long there is no planner, so that one sees that orders
	// are taken nevertheless.
	downFor = 1500 * time.Millisecond
)

// play starts the orders one after the other, kills the planner when half of
// them are on their way, and waits for all to end.
func (d *demo) play(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, playLimit)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d.printf("%d orders come in, one every %s; each is a workflow.\n", len(d.progress.cases), d.Every)
	show := newTicker(d, time.Now())
	shown, stopShowing := context.WithCancel(ctx)
	var showing, running sync.WaitGroup
	showing.Go(func() { show.run(shown) })
	running.Go(func() {
		if err := d.killInTheMiddle(ctx, show); err != nil {
			fail(err)
		}
	})
	for _, c := range d.progress.cases {
		running.Go(func() {
			if err := d.order(ctx, c); err != nil {
				fail(fmt.Errorf("order %s: %w", c.ID, err))
			}
		})
		d.watch(ctx, fail, d.Every)
	}
	running.Wait()
	stopShowing()
	showing.Wait()
	show.last()
	return context.Cause(ctx)
}

// watch lets some time pass, and ends the play when something beside it fails.
func (d *demo) watch(ctx context.Context, fail func(error), t time.Duration) {
	select {
	case <-ctx.Done():
	case err := <-d.failed:
		fail(err)
	case err := <-d.dev.Ended():
		fail(err)
	case <-time.After(t):
	}
}

// order runs one order to its end. Its start is acknowledged by Kafka, so it
// does not need a planner that lives.
func (d *demo) order(ctx context.Context, c orders.Case) error {
	d.progress.begin(c.ID)
	run, err := d.cl.Start(ctx, d.def.Name, c.Order, client.StartOptions{ID: c.ID, Wait: client.UntilWritten, By: client.By{Who: "demo", Why: c.Kind}})
	if err != nil {
		return err
	}
	w, err := run.Wait(ctx)
	if err != nil {
		return err
	}
	results, err := run.Results(ctx)
	if err != nil {
		return err
	}
	d.progress.end(c, w, results["order"])
	return nil
}

// killInTheMiddle kills the planner when half of the orders have started, and
// starts another one a little later.
func (d *demo) killInTheMiddle(ctx context.Context, show *ticker) error {
	for d.progress.now().started < len(d.progress.cases)/2 {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	before, killed := d.progress.now(), time.Now()
	pid, err := d.dev.KillPlanner()
	if err != nil {
		return err
	}
	show.note("The planner is killed (kill -9 %d): %d orders are open.", pid, before.open())
	if err := pause(ctx, downFor); err != nil {
		return err
	}
	more := d.progress.now().started - before.started
	show.note("%d more orders have come in meanwhile; Kafka has them.", more)
	if err := d.dev.StartService(ctx, dev.Planner); err != nil {
		return err
	}
	show.note("A new planner owns all partitions %s after the kill, when the group had given up on the dead one, and goes on. Its metrics are at %s",
		round(time.Since(killed)), d.dev.PlannerMetrics())
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
