package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/heddle-run/heddle/services/planner/pool"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// pooling is what a world has whose queues may be bound to pools of runners: executors with sockets, and runners. Others
// have nil.
type pooling struct {
	w     *world
	rng   *rand.Rand // what runners and executors do by themselves
	names []string   // of the pools
	pools map[string]pool.Options
	bound map[string]string // queues that planners which start now give to pools

	executors []*executor // by slot; nil: it is down
	runners   []*runner   // by slot; nil: its process is down
	of        []string    // pools, by slots of runners
	starts    int         // of executors and runners
	losses    int         // faults by which attempts may be lost

	began  map[string]string  // who has begun an attempt, by its token
	served map[string]service // by the id of a runner's session: its newest socket
}

// service is where the log of commands says that a runner has a socket.
type service struct {
	to        events.Connection
	partition int32
	offset    int64
}

const (
	poolsEach     = 8 // how many seeds there are to one that has pools
	runnersOfPool = 2
	executorSlots = 2

	commandsPartitions = 2
)

// poolDice draw whether there are pools, and what they are: other seeds are as they were.
func poolDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x706f6f6c73)) }

// pools reports whether there are pools. A night is no time that executors and runners would know of.
func (o *Options) pools() bool {
	return poolDice(o.Seed).IntN(poolsEach) == 0 && o.Seed%anotherDay > 0
}

// newPooling draws pools, where there are any.
func newPooling(w *world) *pooling {
	if !w.o.pools() {
		return nil
	}
	rng := poolDice(w.o.Seed ^ 0x6f66)
	g := &pooling{
		w: w, rng: rng, names: []string{"a", "b"}[:1+rng.IntN(2)], pools: map[string]pool.Options{}, bound: map[string]string{},
		began: map[string]string{}, served: map[string]service{},
	}
	for _, name := range g.names {
		g.pools[name] = pool.Options{Overflow: rng.IntN(2) == 0, Upgrade: rng.IntN(3) == 0}
		for range runnersOfPool {
			g.of = append(g.of, name)
		}
	}
	for _, queue := range queues {
		g.bind(queue, rng)
	}
	g.executors, g.runners = make([]*executor, executorSlots), make([]*runner, len(g.of))
	w.c.topic(w.c.names.RunnerCommands(), commandsPartitions, smallRecord)
	return g
}

// bind gives a queue to a pool, or to workers.
func (g *pooling) bind(queue string, rng *rand.Rand) {
	if at := rng.IntN(len(g.names) + 1); at < len(g.names) {
		g.bound[queue] = g.names[at]
	} else {
		delete(g.bound, queue)
	}
}

// bindings are what a planner that starts now is told: pools by queue.
func (g *pooling) bindings() map[string]string {
	if g == nil {
		return nil
	}
	return maps.Clone(g.bound)
}

// machine is that of pools.
func (g *pooling) machine() machine.Machine {
	s := workload.PoolTimes
	if g == nil {
		return pool.New(s)
	}
	s.Pools = g.pools
	f := g.w.o.Flaws
	return pool.Flawed(s, pool.Flaws{
		FreedTwice: pool.Flaw(f.FreedSlots), BothServed: pool.Flaw(f.TwoSockets), BegunAgain: pool.Flaw(f.BegunAgain),
		MissedSkipped: pool.Flaw(f.MissedCommands), AppliedTwice: pool.Flaw(f.RecountedEvents),
	})
}

// begin starts executors and runners.
func (g *pooling) begin() {
	if g == nil {
		return
	}
	for slot := range g.executors {
		g.startExecutor(slot)
	}
	for slot := range g.runners {
		g.startRunner(slot)
	}
}

// moves adds what executors and runners could do now. The cluster's lock is held.
func (g *pooling) moves(all []move, now time.Time) []move {
	if g == nil {
		return all
	}
	for _, x := range g.executors {
		if x != nil && !x.frozen {
			all = x.moves(all, now)
		}
	}
	for _, r := range g.runners {
		if r != nil && !r.frozen {
			all = r.moves(all, now)
		}
	}
	return all
}

// calmDown has everybody be there, so that all that waits is run.
func (g *pooling) calmDown() {
	if g == nil {
		return
	}
	for slot, x := range g.executors {
		if x == nil {
			g.startExecutor(slot)
		} else {
			x.frozen = false
		}
	}
	for slot, r := range g.runners {
		if r == nil {
			g.startRunner(slot)
		} else {
			r.frozen = false
		}
	}
}

// oneServed holds that of the sockets of a runner one is served: who has another has read that it is to be closed.
func (g *pooling) oneServed() {
	for _, x := range g.executors {
		if x == nil {
			continue
		}
		for _, s := range x.sockets {
			newest, known := g.served[s.runner]
			if s.phase == serving && known && s.of != newest.to && x.hasRead(newest.partition, newest.offset) && !g.w.audit.inDoubt(s.pool) {
				g.w.failAbout(g.w.workflow(s.pool), "two sockets of the runner %s are served: %+v and %+v", s.runner, s.of, newest.to)
			}
		}
	}
}

// beginsOnce holds that nothing begins twice under one token. Where a lease was broken it may: a void record has given it
// to somebody.
func (g *pooling) beginsOnce(workflow, token string, by *runner) {
	if before, has := g.began[token]; has && !g.w.audit.inDoubt(by.pool) {
		g.w.failAbout(g.w.workflow(workflow), "an attempt of %s begins at %s, and has begun under its token at %s", workflow, by.name, before)
	}
	g.began[token] = by.name
}

// someExecutor is one that is there; nil: there is none.
func (g *pooling) someExecutor(rng *rand.Rand) *executor {
	all := slices.DeleteFunc(slices.Clone(g.executors), func(x *executor) bool { return x == nil })
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}

// someRunner is one that is there; nil: there is none.
func (g *pooling) someRunner(rng *rand.Rand) *runner {
	all := slices.DeleteFunc(slices.Clone(g.runners), func(r *runner) bool { return r == nil })
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}

func (g *pooling) started(what string) string {
	g.starts++
	return fmt.Sprintf("%s%d", what, g.starts)
}
