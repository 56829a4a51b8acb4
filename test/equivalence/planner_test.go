package equivalence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/services/planner/plannerd"
)

// planners runs the incarnations of one planner until the world is over.
func (w *world) planners(slot int, fates []fate) {
	for i := 0; ; i++ {
		var f *fate
		if i < len(fates) {
			f = &fates[i]
		}
		if !w.planner(slot, i, f) {
			return
		}
		if !w.wait(f.down) && slot > 0 {
			return
		}
	}
}

// planner runs one incarnation to its end; f is nil for the last one. It says
// whether there is to be another one.
func (w *world) planner(slot, number int, f *fate) bool {
	fs := w.disk(slot)
	cfg := w.plannerConfig(slot, fs)
	wire := newTripwire(cfg.Kafka.Dialer)
	cfg.Kafka.Dialer = wire.DialContext
	p, err := plannerd.New(cfg)
	if err != nil {
		w.t.Error(err)
		return false
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var left *vfs.MemFS
	wire.fire = sync.OnceFunc(func() {
		left = w.remains(fs, slot, number, f)
		p.Crash()
	})
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	if f != nil {
		go w.fulfil(ctx, f, wire, stop)
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
	if left != nil {
		w.setDisk(slot, left)
		if !errors.Is(err, plannerd.ErrCrashed) {
			w.t.Errorf("a crashed planner ended with: %v", err)
		}
		w.killed(&w.killedPlanners, "planner", slot, number)
		return true // also at the end: what it leaves is recovered and stopped in order
	}
	if err != nil {
		w.t.Errorf("a planner ended with: %v", err)
	}
	return again
}

func (w *world) plannerConfig(slot int, fs *vfs.MemFS) plannerd.Config {
	return plannerd.Config{
		Kafka: w.cluster.Config, DataDir: dataDir(slot), FS: fs, Instance: dataDir(slot),
		TokenKey: secret, Partition: w.plan.Settings, Logger: w.logger,
	}
}

// remains is the disk as a kill leaves it.
func (w *world) remains(fs *vfs.MemFS, slot, number int, f *fate) *vfs.MemFS {
	if f.wiped {
		return vfs.NewCrashableMem()
	}
	rng := rand.New(rand.NewPCG(w.plan.Seed, uint64(slot*100+number)))
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: f.unsynced, RNG: rng})
}

// fulfil brings a process to the end that its fate says. stop asks it to end.
func (w *world) fulfil(ctx context.Context, f *fate, wire *tripwire, stop func()) {
	select {
	case <-w.chaos:
	case <-ctx.Done():
		return
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
		w.wait(f.down)
		wire.mend()
	default:
		wire.fire()
	}
}

func dataDir(slot int) string { return fmt.Sprintf("planner-%d", slot) }

// plannerDir is where a planner keeps the store of a partition.
func plannerDir(slot, partition int) string {
	return fmt.Sprintf("%s/partition-%d", dataDir(slot), partition)
}
