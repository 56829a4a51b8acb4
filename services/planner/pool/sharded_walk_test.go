package pool

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// tour is a pool with shards whose number changes, among runners that come, go, work and are killed.
type tour struct {
	*sharded
	t     *rapid.T
	procs map[string]*toured
	begun map[int]int
	ended int
}

// toured is a runner that does at once what it is told.
type toured struct {
	*runner
	plugged bool
	running []int
	did     int
}

func (k *tour) proc() *toured {
	return k.procs[rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(k.t, "key")]
}

// do lets a runner begin and stop what it was told to.
func (k *tour) do(p *toured) {
	p.take(0)
	for ; p.did < len(p.commands); p.did++ {
		c := p.commands[p.did]
		n := number(c.Token)
		switch {
		case c.Stop == "":
			if k.begun[n]++; k.begun[n] > 1 {
				k.t.Fatalf("attempt %d has begun twice", n)
			}
			p.running = append(p.running, n)
			p.says(events.TaskRunning, n)
		case slices.Contains(p.running, n):
			k.end(p, n, events.TaskUnfinished)
		}
	}
	k.deliver()
}

func (k *tour) end(p *toured, n int, state events.TaskState) {
	p.running = slices.DeleteFunc(p.running, func(m int) bool { return m == n })
	if state == events.TaskStopped {
		delete(k.at, n)
		k.ended++
	}
	p.says(state, n)
	k.deliver()
}

// comes plugs a runner in. One that has work has the session that it had, whatever the number of shards is by now.
func (k *tour) comes(p *toured) {
	before, busy := p.id, len(p.running) > 0
	greeted := k.plug(p.runner)
	p.plugged = true
	if p.id == before {
		return
	}
	if busy {
		k.t.Fatalf("%s was at work as %s, and is %s by now (greeted %v)", p.hello.Key, before, p.id, greeted)
	}
	p.running, p.did, p.events = nil, 0, p.counted
	p.take(0)
}

// closed takes note of the sockets that were closed: going_away comes back.
func (k *tour) closed() {
	for _, key := range slices.Sorted(maps.Keys(k.procs)) {
		p := k.procs[key]
		if !p.plugged {
			continue
		}
		for _, m := range p.w.sent {
			if m.To != p.conn || m.Close == "" {
				continue
			}
			if m.Close != frames.CloseGoingAway.Reason {
				k.t.Fatalf("the socket of %s was closed: %s", key, m.Close)
			}
			if len(p.running) > 0 {
				k.t.Fatalf("%s is sent away while it runs %v", key, p.running)
			}
			k.comes(p)
			break
		}
	}
}

func (k *tour) steps() map[string]func(*rapid.T) {
	with := func(act func(t *rapid.T, p *toured)) func(*rapid.T) {
		return func(t *rapid.T) {
			if p := k.proc(); p != nil && p.plugged {
				act(t, p)
			}
		}
	}
	return map[string]func(*rapid.T){
		"":      func(*rapid.T) { k.closed() },
		"offer": func(*rapid.T) { k.offer() },
		"withdraw": func(t *rapid.T) {
			if all := slices.Sorted(maps.Keys(k.at)); len(all) > 0 {
				k.withdraw(rapid.SampledFrom(all).Draw(t, "attempt"))
				k.deliver()
			}
		},
		"connect": func(t *rapid.T) {
			key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key")
			p := k.procs[key]
			if p == nil {
				hello := events.RunnerHello{Key: key, Slots: rapid.Uint32Range(1, 3).Draw(t, "slots"), Version: 1, Instance: fmt.Sprint(key, k.next, k.now)}
				p = &toured{runner: &runner{hello: hello}}
				k.procs[key] = p
			}
			if !p.plugged {
				k.comes(p)
			}
		},
		"break": with(func(_ *rapid.T, p *toured) {
			p.report(events.RunnerReport{Closed: "the socket broke"})
			p.plugged = false
			k.deliver()
		}),
		"return": with(func(t *rapid.T, p *toured) { // to a pool that has another number of shards
			p.report(events.RunnerReport{Closed: "the socket broke"})
			k.resize(rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "shards"))
			k.comes(p)
		}),
		"kill": with(func(_ *rapid.T, p *toured) {
			p.report(events.RunnerReport{Closed: "the socket broke"})
			delete(k.procs, p.hello.Key)
			k.deliver()
		}),
		"work": with(func(_ *rapid.T, p *toured) { k.do(p) }),
		"end": with(func(t *rapid.T, p *toured) {
			if len(p.running) > 0 {
				k.end(p, rapid.SampledFrom(p.running).Draw(t, "task"), events.TaskStopped)
			}
		}),
		"pass": func(t *rapid.T) {
			k.passes(rapid.Int64Range(1, 3000).Draw(t, "ms"))
			k.restful()
		},
		"resize": func(t *rapid.T) { k.resize(rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "shards")) },
	}
}

// restful ends runners without a socket: the pool gives them up after a while, and so do they.
func (k *tour) restful() {
	for _, key := range slices.Sorted(maps.Keys(k.procs)) {
		if p := k.procs[key]; !p.plugged {
			delete(k.procs, key)
		}
	}
}

// rest holds that one runner, wherever it belongs, comes to do all that is left, and that nothing is left behind.
func (k *tour) rest() {
	for _, key := range slices.Sorted(maps.Keys(k.procs)) {
		if p := k.procs[key]; p.plugged {
			p.report(events.RunnerReport{Closed: "the socket broke"})
		}
	}
	k.procs = map[string]*toured{"last": {runner: &runner{hello: events.RunnerHello{Key: "last", Slots: 2, Version: 1, Instance: "last"}}}}
	k.passes(20_000)
	last := k.procs["last"]
	k.comes(last)
	for round := 0; len(k.at) > 0; round++ {
		if round > 100 {
			k.t.Fatalf("with a runner that has slots, these wait: %v", k.at)
		}
		k.do(last)
		for _, n := range slices.Clone(last.running) {
			k.end(last, n, events.TaskStopped)
		}
		k.passes(5000)
		k.closed()
	}
	last.report(events.RunnerReport{Closed: "it is done"})
	for _, id := range k.names() {
		w := k.shards[id]
		for w.fire() {
		}
		if n := len(w.state.Keys()); n > 0 {
			k.t.Fatalf("%d rows are left of %s: %v", n, id, w.state.Keys())
		}
	}
}

// Whatever the number of shards is, and becomes: no attempt begins twice, a runner keeps what it runs, and what waits is run once there
// is a runner, wherever that belongs.
func TestShardsForgetNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "shards")
		k := &tour{sharded: newSharded(t, Options{Shards: n}), t: t, procs: map[string]*toured{}, begun: map[int]int{}}
		t.Repeat(k.steps())
		k.closed()
		k.rest()
	})
}
