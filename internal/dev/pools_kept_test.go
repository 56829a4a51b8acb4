package dev_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/services/planner/pool"
)

const counted = `{"name": "counted", "components": {"count": {"step": "images.count", "queue": "images"}}, "options": {"close": "on_idle"}}`

// count adds 1 to what the attempts before it have kept.
func count(ctx context.Context) (int, error) {
	keys, n := runner.KeysOf(ctx), 0
	kept, err := keys.List(ctx, runner.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, e := range kept {
		if err := json.Unmarshal(e.Value, &n); err != nil {
			return 0, err
		}
	}
	n++
	return n, keys.Put(ctx, runner.Entry{Key: "n", Value: json.RawMessage(fmt.Sprint(n))})
}

// A task keeps a counter. Its runner is killed and started again, and so are the executor and the planner meanwhile: the next attempt reads it.
func TestATaskReadsWhatTheAttemptsBeforeItHaveKept(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Pools: map[string]pool.Options{"images": {Queues: []string{"images"}}}})
	defer stop(t, d)
	c := connect(t, d)
	if _, err := c.Define(ctx, "counted", []byte(counted)); err != nil {
		t.Fatal(err)
	}
	run, err := c.Start(ctx, "counted", 0, client.StartOptions{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	const attempts = 3
	seen := make(chan int, attempts)
	for i := range attempts {
		go process(ctx, t, d, func(ctx context.Context, _ int) (int, error) {
			n, err := count(ctx)
			if err != nil {
				t.Errorf("attempt %d: %v", i+1, err)
			}
			seen <- n
			if i+1 < attempts {
				<-ctx.Done() // it is killed
			}
			return n, err
		})
		if n := <-seen; n != i+1 {
			t.Fatalf("attempt %d has counted to %d", i+1, n)
		}
		for _, s := range []dev.Service{dev.Executor, dev.Planner} {
			if err := errors.Join(d.StopService(s), d.StartService(ctx, s)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := client.Result[int](ctx, run, "count"); err != nil || got != attempts {
		t.Fatalf("the result is %d, %v", got, err)
	}
}

// process is a runner that is the only one of its key: the one before it is dead for its pool.
func process(ctx context.Context, t *testing.T, d *dev.Dev, fn func(context.Context, int) (int, error)) {
	r, err := runner.New(runner.Options{URL: d.RunnersURL, Pool: "images", Key: "host", Slots: 1, Times: runner.Times{FirstReconnect: 20 * time.Millisecond, Drain: time.Millisecond}})
	if err != nil {
		t.Error(err)
		return
	}
	runner.Handle(r, task.Define[int, int]("images.count"), fn)
	_ = r.Run(ctx) // it ends when it is evicted, or with the test
}

const asleep = `{"name": "asleep", "components": {"count": {"step": "images.count", "queue": "images", "policy": {"max_retries": 0}}}, "options": {"close": "on_idle"}}`

// A task sleeps, again and again. Its runner has one slot, which others have meanwhile, and its attempts neither fail nor are tried again.
func TestATaskSleepsWithoutASlot(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true, Pools: map[string]pool.Options{"images": {Queues: []string{"images"}}}})
	defer stop(t, d)
	c := connect(t, d)
	if _, err := c.Define(ctx, "asleep", []byte(asleep)); err != nil {
		t.Fatal(err)
	}
	go process(ctx, t, d, func(ctx context.Context, input int) (int, error) {
		n, err := count(ctx)
		switch {
		case err != nil:
			return 0, err
		case input == 2:
			return 0, runner.SleepUntil(time.Now().Add(time.Hour))
		case n < 4:
			return 0, runner.SleepUntil(time.Now().Add(10 * time.Millisecond))
		}
		return n, nil
	})
	if _, err := c.Start(ctx, "asleep", 2, client.StartOptions{ID: "long"}); err != nil {
		t.Fatal(err)
	}
	waits := ""
	for !strings.HasPrefix(waits, "its alarm, ") {
		page, err := c.Runnables(ctx, "long", client.PageOptions{})
		if err != nil {
			t.Fatalf("%v, while it waits for %s", err, waits)
		}
		if len(page.Items) > 0 {
			waits = page.Items[0].WaitsFor
		}
		if strings.HasPrefix(waits, "its alarm, ") && (page.Items[0].Kept == nil || page.Items[0].Kept.Keys != 1) {
			t.Errorf("it is shown to keep %+v", page.Items[0].Kept)
		}
	}
	run, err := c.Start(ctx, "asleep", 1, client.StartOptions{ID: "short"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Result[int](ctx, run, "count"); err != nil || got != 4 {
		t.Fatalf("the result is %d, %v", got, err)
	}
}
