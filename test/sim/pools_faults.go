package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// troubles is the fault of runners, executors, and who operates them.
const troubles = "runners"

// drawTroubles draws them where there are pools, from dice of their own.
func (o *Options) drawTroubles() []Fault {
	if !o.pools() || len(o.Kinds) > 0 && !slices.Contains(o.Kinds, troubles) {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x74726f75626c6573))
	var all []Fault
	for range 3 + rng.IntN(10) {
		all = append(all, Fault{rng.IntN(o.Steps), troubles, rng.Uint64()})
	}
	return all
}

// mostLosses bounds the faults by which attempts are lost: policies leave room for so many.
const mostLosses = 4

// trouble does something to a runner or an executor.
func (w *world) trouble(rng *rand.Rand) {
	g := w.pooling
	if g == nil {
		return
	}
	x, r := g.someExecutor(rng), g.someRunner(rng)
	kind, mild := rng.IntN(12), g.losses >= mostLosses
	switch {
	case kind < 3:
		g.breakSocket(r, rng)
	case kind == 3 && x != nil:
		g.killExecutor(x, rng)
	case kind == 4 && x != nil:
		w.tell(Subject{}, "  executor %s is frozen", x.name)
		x.frozen = true
		w.at(millis(rng, 500, 16_000), x.name+" is awake", func() { x.frozen = false })
	case kind == 5 && x != nil:
		w.tell(Subject{}, "  executor %s closes its sockets", x.name)
		x.leave()
	case kind < 8:
		g.rebind(rng)
	case r == nil || mild:
	case kind == 8:
		g.losses++
		g.killRunner(r, rng)
	case kind == 9:
		g.losses++
		w.tell(Subject{}, "  %s is frozen", r.name)
		r.frozen = true
		w.at(millis(rng, 500, 9000), r.name+" is awake", func() { r.frozen = false })
	case kind == 10:
		w.tell(Subject{}, "  %s stops", r.name)
		w.c.mu.Lock()
		r.s.Stop(time.Now())
		r.perform()
		w.c.mu.Unlock()
	default:
		g.losses++
		g.stopRunner(r, rng)
	}
}

// breakSocket breaks a socket: both sides notice it, or one, or neither before it has been silent for too long.
func (g *pooling) breakSocket(r *runner, rng *rand.Rand) {
	g.w.c.mu.Lock()
	defer g.w.c.mu.Unlock()
	if r == nil || r.sock == nil {
		return
	}
	s, kind := r.sock, rng.IntN(4)
	g.w.tell(g.w.workflow(s.pool), "  the socket of %s breaks, in way %d", s, kind)
	s.cut = true
	if kind != 1 && s.phase != gone {
		if kind != 3 {
			s.end("its connection broke")
		}
	}
	if kind < 2 || kind == 3 && rng.IntN(2) == 0 {
		r.sock = nil
		r.s.Broken(time.Now(), frames.Close{})
		r.perform()
	}
}

func (g *pooling) killExecutor(x *executor, rng *rand.Rand) {
	g.w.tell(Subject{}, "  executor %s is killed", x.name)
	x.kill(rng.IntN(3) > 0)
	g.w.at(millis(rng, 0, 4000), "an executor starts again", func() {
		if g.executors[x.slot] == nil {
			g.startExecutor(x.slot)
		}
	})
}

// killRunner kills a process. Its executor notices, or does not before it has been silent for too long.
func (g *pooling) killRunner(r *runner, rng *rand.Rand) {
	g.w.c.mu.Lock()
	defer g.w.c.mu.Unlock()
	g.w.tell(g.w.workflow(events.PoolOf(r.pool)), "  %s is killed", r.name)
	if r.sock != nil {
		if rng.IntN(3) == 0 {
			r.sock.cut = true
		}
		r.hangUp("its connection broke")
	}
	g.runners[r.slot] = nil
	g.runnerAgain(r.slot, millis(rng, 0, 7000))
}

// stopRunner lets an operator stop a runner, by its key, in order or at once.
func (g *pooling) stopRunner(r *runner, rng *rand.Rand) {
	g.w.orders++
	id := fmt.Sprintf("order-%d", g.w.orders)
	body := map[string]any{"runner": r.key, "now": rng.IntN(2) == 0, "by": "an operator", "why": "to see what happens"}
	if rng.IntN(4) == 0 {
		body["runner"] = "nobody"
	}
	g.w.soon(millis(rng, 0, 1000), func(ctx context.Context) error {
		_, err := g.w.caller(id).command(ctx, "stop_runner", events.PoolOf(r.pool), id, body)
		return err
	})
}

// rebind gives a queue to another pool, or to workers: planners end in order and start again with that, one after the other.
func (g *pooling) rebind(rng *rand.Rand) {
	w := g.w
	g.bind(queues[rng.IntN(len(queues))], rng)
	w.tell(Subject{}, "  queues go to pools: %v", g.bound)
	at := time.Duration(0)
	for slot := range w.nodes {
		w.at(at, "a planner is to start with other settings", func() { g.renew(slot) })
		at += millis(rng, 0, 3000)
	}
}

// renew ends a planner in order, and starts it again.
func (g *pooling) renew(slot int) {
	w := g.w
	n := w.nodes[slot]
	if n == nil || n.silent() {
		return // it starts with them, or fails to hear of them
	}
	w.tell(n.about(), "  %s leaves", n.name)
	w.nodes[slot] = nil
	n.leave()
	var again func()
	again = func() {
		if !w.audit.allEnded() {
			w.at(50*time.Millisecond, "start again", again)
			return
		}
		w.injector.restart(slot)
	}
	w.at(50*time.Millisecond, "a planner starts again", again)
}
