package equivalence

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/test/sim/disk"
)

// planners runs the incarnations of one planner until the world is over.
func (w *world) planners(slot int, fates []fate) {
	for i := 0; ; i++ {
		var f *fate
		if i < len(fates) {
			f = &fates[i]
		}
		if !w.planner(slot, i, f) || f == nil { // the last one is to live until the world is over
			return
		}
		if !w.wait(f.down) && slot > 0 {
			return
		}
		if f.loses {
			w.loseAll(slot, i)
		}
	}
}

// planner runs one incarnation to its end; f is nil for the last one. It reports
// whether there is to be another one.
func (w *world) planner(slot, number int, f *fate) bool {
	fs, rng := w.disk(slot), rand.New(rand.NewPCG(w.plan.Seed, uint64(slot*100+number)))
	cfg := w.plannerConfig(slot, fs)
	wire := w.newTripwire()
	cfg.Kafka.Dialer = wire.DialContext
	var dead atomic.Bool
	cfg.Killed = faults.KilledBy(dead.Load)
	p, err := plannerd.New(cfg)
	if err != nil {
		w.t.Error(err)
		return false
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var left *disk.Disk
	wire.fire = sync.OnceFunc(func() {
		left = w.remains(fs, f, rng)
		dead.Store(true)
		wire.sever()
		stop()
	})
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	if f != nil {
		go w.fulfil(ctx, f, fs, wire, stop)
		if f.full > 0 {
			w.wg.Go(func() { w.fill(fs, f.fills, f.full) })
		}
	}
	again := true
	select {
	case err = <-ended:
	case <-w.over:
		again = false
		wire.arm(0, false)
		stop()
		err = <-ended
	}
	if err != nil {
		w.t.Errorf("a planner ended with: %v", err)
	}
	if left != nil {
		w.setDisk(slot, w.spoilt(left, f, rng))
		w.killed(&w.killedPlanners, "planner", slot, number)
		return true // also at the end: what it leaves is recovered and stopped in order
	}
	if again {
		w.setDisk(slot, w.spoilt(fs, f, rng))
	}
	return again
}

func (w *world) plannerConfig(slot int, fs *disk.Disk) plannerd.Config {
	return plannerd.Config{
		Kafka: w.cluster.Config, DataDir: dataDir(slot), FS: fs, Instance: dataDir(slot),
		TokenKey: secret, Partition: w.plan.Settings, Logger: slog.New(stopper{w.logger.Handler(), w}), Clock: w.clocks[slot],
	}
}

// chaotic waits until faults begin; false when ctx ends before.
func (w *world) chaotic(ctx context.Context) bool {
	select {
	case <-w.chaos:
		return true
	case <-ctx.Done():
		return false
	}
}

// fulfil brings a process to the end that its fate says. fs is its disk, if it
// has one; stop asks it to end.
func (w *world) fulfil(ctx context.Context, f *fate, fs *disk.Disk, wire *tripwire, stop func()) {
	if !w.chaotic(ctx) {
		return
	}
	if f.damage == outdated {
		f.old = fs.Copy()
	}
	if f.how == atRequest {
		wire.arm(f.requests, f.after)
		return
	}
	timer := time.NewTimer(f.lives)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.over:
		return
	case <-ctx.Done():
		return
	}
	switch f.how {
	case inOrder:
		stop()
	case cutOff:
		wire.sever()
		if fs != nil {
			w.happened("a planner that is not heard")
		}
		w.wait(f.down)
		wire.fix()
	default:
		wire.fire()
	}
}

func dataDir(slot int) string { return fmt.Sprintf("planner-%d", slot) }

// plannerDir is where a planner keeps the store of a partition.
func plannerDir(slot, partition int) string {
	return fmt.Sprintf("%s/partition-%d", dataDir(slot), partition)
}
