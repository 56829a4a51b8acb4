package equivalence

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
)

// workers runs the incarnations of one worker until the world is over.
func (w *world) workers(slot int, fates []fate) {
	for i := 0; ; i++ {
		var f *fate
		if i < len(fates) {
			f = &fates[i]
		}
		if !w.worker(slot, i, f) || f == nil || !w.wait(f.down) { // the last one is to live until the world is over
			return
		}
	}
}

// worker runs one incarnation. A killed one is left behind: its attempts may
// still run for a while, as those of a machine that only lost its network.
func (w *world) worker(slot, number int, f *fate) (again bool) {
	wire := w.newTripwire()
	name := fmt.Sprintf("worker-%d-%d", slot, number)
	c := worker.Config{
		Kafka: w.cluster.Config, Name: name, Channel: "test", Logger: w.logger,
		Heartbeat: 3 * time.Second, DrainLimit: time.Second,
		Pools: []worker.Pool{{
			Queues: []string{topics.DefaultQueue, "orders"}, Slots: w.plan.Slots,
			Lookup: func(string) (worker.Handler, bool) { return work(w.plan, w.memory, name), true },
		}},
	}
	c.Kafka.Dialer = wire.DialContext
	t, err := worker.New(c)
	if err != nil {
		w.t.Error(err)
		return false
	}
	ctx, stop := context.WithCancel(context.Background())
	killed := make(chan struct{})
	wire.fire = sync.OnceFunc(func() {
		wire.sever()
		stop()
		close(killed)
	})
	ended := make(chan error, 1)
	w.wg.Go(func() { ended <- t.Run(ctx) })
	if f != nil {
		go w.fulfil(ctx, f, nil, wire, stop)
	}
	select {
	case <-killed:
		w.killed(&w.killedWorkers, "worker", slot, number)
		return true
	case err := <-ended:
		if err != nil {
			w.t.Errorf("a worker ended with: %v", err)
		}
		return true
	case <-w.over:
		wire.arm(0, false)
		stop()
		if err := <-ended; err != nil && f == nil {
			w.t.Errorf("a worker ended with: %v", err)
		}
		return false
	}
}
