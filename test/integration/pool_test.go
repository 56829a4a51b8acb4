//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/test/ports"
)

// slotsOfPool is what three runners offer, who work for as long as a step takes.
const (
	slotsOfPool = 3 * 4
	stepOfPool  = 100 * time.Millisecond
)

// An executor with half of the sockets is killed while its runners work, and a planner
// that owns half of the partitions behind it. The runners find the other executor, and
// what they were at is neither lost nor done again.
func TestAPoolOutlivesItsExecutorAndItsPlanner(t *testing.T) {
	t.Parallel()
	d := prepare(t, brokers)
	for _, name := range []string{"planner-1", "planner-2"} {
		d.add("planner", name, "--pools", "shop=hands")
	}
	var doors []string // of the executors, where runners connect
	for _, name := range []string{"executor-1", "executor-2"} {
		addr, err := ports.Free(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d.add("executor", name, "--runners", addr.String())
		doors = append(doors, addr.String())
	}
	d.add("readiness", "readiness")
	d.api = &api{t: t, base: "http://" + d.add("gateway", "gateway")}
	d.ready()
	d.shared(2)

	h := hands{began: map[string]int{}}
	for i := range 3 {
		h.join(t, fmt.Sprintf("runner-%d", i+1), append(doors[i%2:len(doors):len(doors)], doors[:i%2]...))
	}
	const workflows, steps = 40, 4
	for i := range workflows {
		d.api.start(fmt.Sprintf("pooled-%d", i), chain(steps, "shop.add"), i)
	}
	h.reaches(t, workflows*steps/4)
	d.processes["executor-1"].kill(t)
	killed := time.Now()
	h.reaches(t, h.count()+2*slotsOfPool) // the runners that lost their sockets work again, or the others do
	d.processes["planner-1"].kill(t)
	for i := range workflows {
		id := fmt.Sprintf("pooled-%d", i)
		d.endsWith(id, fmt.Sprint(i+steps))
		d.wantCompleted(id, steps)
	}
	t.Logf("POOL: all %d workflows ended %s after kill -9 of the executor", workflows, time.Since(killed).Round(time.Millisecond))
	if n := h.count(); n != workflows*steps {
		t.Errorf("%d steps were begun %d times", workflows*steps, n)
	}
	for token, n := range h.began {
		if n != 1 {
			t.Errorf("the attempt %s was begun %d times", token, n)
		}
	}
}

// hands are runners of this process, and what they have begun.
type hands struct {
	mu    sync.Mutex
	began map[string]int // by token
}

// join runs one more runner until the test ends. It connects to the first of the doors that
// opens.
func (h *hands) join(t *testing.T, key string, doors []string) {
	t.Helper()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var all error
		for _, door := range doors {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, door)
			if err == nil {
				return conn, nil
			}
			all = errors.Join(all, err)
		}
		return nil, all
	}
	r, err := runner.New(runner.Options{URL: "ws://" + doors[0], Pool: "hands", Key: key, Slots: slotsOfPool / 3, Dialer: dial})
	if err != nil {
		t.Fatal(err)
	}
	runner.Handle(r, task.Define[int, int]("shop.add"), func(ctx context.Context, n int) (int, error) {
		h.mu.Lock()
		h.began[task.Token(ctx)]++
		h.mu.Unlock()
		select {
		case <-time.After(stepOfPool):
			return n + 1, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("%s ended: %v", key, err)
		}
	})
	t.Cleanup(func() {
		r.StopNow()
		stop()
		running.Wait()
	})
}

func (h *hands) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, times := range h.began {
		n += times
	}
	return n
}

// reaches waits until so many attempts have begun.
func (h *hands) reaches(t *testing.T, n int) {
	t.Helper()
	eventually(t, takeoverLimit, fmt.Sprintf("%d attempts have begun", n), func() error {
		if now := h.count(); now < n {
			return fmt.Errorf("%d have", now)
		}
		return nil
	})
}
