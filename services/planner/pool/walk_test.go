package pool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// process is a runner that does as the protocol says.
type process struct {
	*runner
	plugged  bool // it has a socket, as far as it knows
	unheard  int64
	stopping bool
	running  []int
	did      int // commands that it has done
	unsent   []events.RunnerEvent
	sent     []events.RunnerEvent // and not known to have counted
}

// walk is a pool among runners and workflows that do what they may, in any order.
type walk struct {
	*world
	t       *rapid.T
	procs   map[string]*process
	open    map[int]bool // offered, and neither told of nor done
	begun   map[int]int  // how often a process has begun it
	told    map[int]int
	offered int
	conn    uint64
	saidTo  int
	looked  int
	sockets map[events.Connection]string // those that are open, by the id of their runner
	counted map[string]uint64            // events of a runner that were reported
}

func (k *walk) key(label string) string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(k.t, label)
}

// hears takes what workflows were told, and which sockets were closed: their processes end.
func (k *walk) hears() {
	for ; k.saidTo < len(k.said); k.saidTo++ { // what is withdrawn may have more said
		s := k.said[k.saidTo]
		n := number(s.Token)
		if s.Verb == events.PoolInquire {
			if !k.open[n] {
				k.withdraw(n)
			}
			continue
		}
		if k.told[n]++; k.told[n] > 1 {
			k.t.Fatalf("the workflow of attempt %d was told twice what became of it", n)
		}
		delete(k.open, n)
	}
	for _, m := range k.sent[k.looked:] {
		if m.Close != "" {
			delete(k.sockets, m.To)
		}
		for key, p := range k.procs { // order: at most one has the socket
			if m.Close != "" && m.To == p.conn {
				delete(k.procs, key)
			}
		}
	}
	k.looked = len(k.sent)
	of := map[string]bool{}
	for _, runner := range k.sockets { // order: one of two fails
		if of[runner] {
			k.t.Fatalf("two sockets of the runner %s are served", runner)
		}
		of[runner] = true
	}
}

// do lets a process do what it was told.
func (k *walk) do(p *process) {
	p.take(0)
	for ; p.did < len(p.commands); p.did++ {
		c := p.commands[p.did]
		n := number(c.Token)
		switch {
		case c.Stop == "" && !p.stopping:
			if k.begun[n]++; k.begun[n] > 1 {
				k.t.Fatalf("attempt %d has begun twice", n)
			}
			p.running = append(p.running, n)
			p.add(n, events.TaskRunning)
		case c.Stop != "" && slices.Contains(p.running, n):
			k.ends(p, n, events.TaskUnfinished)
		}
	}
}

func (p *process) add(n int, state events.TaskState) {
	p.unsent = append(p.unsent, events.RunnerEvent{Index: p.events, Token: token(n), State: state})
	p.events++
}

func (k *walk) ends(p *process, n int, state events.TaskState) {
	p.running = slices.DeleteFunc(p.running, func(m int) bool { return m == n })
	p.add(n, state)
	if state == events.TaskStopped {
		delete(k.open, n) // its outcome goes to its workflow another way
	}
}

// send sends events, and some that were sent before.
func (k *walk) send(p *process) {
	all := append(slices.Clone(p.sent), p.unsent...)
	p.sent, p.unsent = all, nil
	if len(all) > 0 {
		from := rapid.IntRange(0, len(all)-1).Draw(k.t, "from")
		if s := k.turn().session(p.session); s != nil && all[from].Index > s.Events {
			from = slices.IndexFunc(all, func(e events.RunnerEvent) bool { return e.Index == s.Events }) // executors let no gap pass
		}
		to := len(all) - 1
		if rapid.Bool().Draw(k.t, "in part") {
			to = rapid.IntRange(from, to).Draw(k.t, "to")
		}
		k.counted[p.id] = max(k.counted[p.id], all[to].Index+1)
		p.report(events.RunnerReport{Events: all[from : to+1]})
	}
}

// unplugs ends the socket of a process, which its executor tells.
func (k *walk) unplugs(p *process) {
	delete(k.sockets, p.conn)
	p.report(events.RunnerReport{Closed: "the socket broke"})
}

// plug connects a process, for the first time or again.
func (k *walk) plug(p *process) {
	before := p.id
	if p.again(rapid.SampledFrom([]string{"x", "y"}).Draw(k.t, "executor")) == nil {
		return // the next look at what was closed ends it
	}
	p.plugged, p.unheard = true, 0
	k.sockets[p.conn] = p.id
	if p.counted != k.counted[p.id] {
		k.t.Fatalf("%d events of the runner %s were reported, and %d count", k.counted[p.id], p.id, p.counted)
	}
	k.nothingMissed(p)
	if p.id != before {
		p.running, p.unsent, p.sent, p.events, p.did = nil, nil, nil, p.counted, 0
	}
	p.sent = slices.DeleteFunc(append(p.sent, p.unsent...), func(e events.RunnerEvent) bool { return e.Index < p.counted })
	p.unsent = nil
}

// nothingMissed holds that a runner that has come back has each command that it is to have.
func (k *walk) nothingMissed(p *process) {
	t := k.turn()
	rows.Scan(t.tx, commandKey(id, p.session, 0), func(key rows.Key, c *command) bool {
		if key.A == p.session && key.B >= p.received && (c.Stop != "" || t.work(c.Number) != nil) {
			k.t.Fatalf("the runner %s has come back without command %d", p.id, key.B)
		}
		return key.A == p.session
	})
}

// passes lets time pass: executors that are there say so, and processes without a socket give up.
func (k *walk) passes(ms int64) {
	end := k.now + ms
	for k.now < end {
		next := min(k.now+4000, end)
		k.until(next)
		for _, x := range []string{"x", "y"} {
			k.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: x}}})
		}
		for _, key := range slices.Sorted(slices.Values([]string{"a", "b", "c"})) {
			if p := k.procs[key]; p != nil && !p.plugged && k.now-p.unheard >= k.m.settings.Threshold.Milliseconds() {
				for _, n := range slices.Clone(p.running) {
					k.ends(p, n, events.TaskUnfinished)
				}
			}
		}
	}
}

// steps are what happens.
func (k *walk) steps() map[string]func(*rapid.T) {
	with := func(act func(p *process)) func(*rapid.T) {
		return func(*rapid.T) {
			if p := k.procs[k.key("key")]; p != nil && p.plugged {
				act(p)
			}
		}
	}
	return map[string]func(*rapid.T){
		"": func(*rapid.T) { k.hears() },
		"offer": func(t *rapid.T) {
			k.offered++
			k.open[k.offered] = true
			k.offerAt(k.offered, rapid.Uint8Range(0, 2).Draw(t, "rank"))
		},
		"offer again": func(t *rapid.T) {
			if n := rapid.IntRange(0, k.offered).Draw(t, "n"); k.open[n] {
				k.offerAt(n, 1)
			}
		},
		"inquire": func(t *rapid.T) {
			if n := rapid.IntRange(0, k.offered).Draw(t, "n"); k.open[n] {
				k.inquire(n)
			}
		},
		"withdraw": func(t *rapid.T) {
			if n := rapid.IntRange(0, k.offered).Draw(t, "n"); n > 0 {
				delete(k.open, n)
				k.withdraw(n)
			}
		},
		"connect": func(t *rapid.T) {
			key := k.key("key")
			p := k.procs[key]
			if p == nil {
				k.conn++
				hello := events.RunnerHello{Key: key, Slots: rapid.Uint32Range(1, 3).Draw(t, "slots"), Version: rapid.Uint32Range(1, 2).Draw(t, "version"), Instance: fmt.Sprint(k.conn)}
				p = &process{runner: &runner{w: k.world, hello: hello}}
				k.procs[key] = p
			}
			if !p.stopping {
				k.plug(p)
			}
		},
		"crash": func(*rapid.T) {
			key := k.key("key")
			if p := k.procs[key]; p != nil {
				if p.plugged {
					k.unplugs(p)
				}
				delete(k.procs, key)
			}
		},
		"break": with(func(p *process) {
			k.unplugs(p)
			p.plugged, p.unheard = false, k.now
		}),
		"work": with(k.do),
		"end": func(t *rapid.T) {
			if p := k.procs[k.key("key")]; p != nil && len(p.running) > 0 {
				k.ends(p, rapid.SampledFrom(p.running).Draw(t, "task"), events.TaskStopped)
			}
		},
		"leave": func(t *rapid.T) { // it wants to be told to stop
			if p := k.procs[k.key("key")]; p != nil && len(p.running) > 0 {
				p.add(rapid.SampledFrom(p.running).Draw(t, "task"), events.TaskLeaving)
			}
		},
		"send":        with(k.send),
		"acknowledge": with(func(p *process) { p.report(events.RunnerReport{Received: p.received}) }),
		"stop": with(func(p *process) {
			p.stopping = true
			k.send(p)
			p.report(events.RunnerReport{Stopping: true})
		}),
		"operator": func(t *rapid.T) { k.operator(k.key("key"), rapid.Bool().Draw(t, "now")) },
		"pass":     func(t *rapid.T) { k.passes(rapid.Int64Range(1, 40_000).Draw(t, "ms")) },
		"timer":    func(*rapid.T) { k.until(k.now) },
	}
}

// rest lets everything come to its end: the processes are gone, and another one does what is left.
func (k *walk) rest() {
	for _, key := range []string{"a", "b", "c"} {
		if p := k.procs[key]; p != nil && p.plugged {
			k.unplugs(p)
		}
		delete(k.procs, key)
	}
	k.passes(10 * 60_000)
	last := &process{runner: &runner{w: k.world, hello: events.RunnerHello{Key: "last", Slots: 2, Version: 9, Instance: "last"}}}
	k.plug(last)
	for {
		k.do(last)
		if len(last.running) == 0 {
			break
		}
		for _, n := range slices.Clone(last.running) {
			k.ends(last, n, events.TaskStopped)
		}
		last.report(events.RunnerReport{Events: append(last.sent, last.unsent...)})
		last.sent, last.unsent = nil, nil
	}
	k.hears()
	if len(k.open) > 0 {
		k.t.Fatalf("%d attempts were offered, and nothing became of %v: %+v", k.offered, k.open, k.view())
	}
	last.report(events.RunnerReport{Closed: "it is done"})
	for k.fire() {
	}
	if n := len(k.state.Keys()); n > 0 {
		k.t.Fatalf("%d rows are left: %v", n, k.state.Keys())
	}
}

// No attempt begins twice, none is forgotten, no slot is freed twice, and a pool leaves nothing behind, whatever
// runners, executors and workflows do in whatever order.
func TestNothingIsForgottenOrBegunTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Overflow: rapid.Bool().Draw(t, "overflow"), Upgrade: rapid.Bool().Draw(t, "upgrade")}
		walks(t, o, Flaws{})
	})
}

func walks(t *rapid.T, o Options, f Flaws) {
	k := &walk{
		world: newWorld(t, o), t: t, procs: map[string]*process{}, open: map[int]bool{}, begun: map[int]int{}, told: map[int]int{},
		sockets: map[events.Connection]string{}, counted: map[string]uint64{},
	}
	k.m.flaws, k.m.settings.Recheck = f, 20*time.Second
	t.Repeat(k.steps())
	k.hears()
	k.rest()
}

// FuzzTold: whatever a message says, a pool takes it or ignores it.
func FuzzTold(f *testing.F) {
	m := events.PoolMessage{Verb: events.PoolOffer, Token: token(1), Task: []byte("task")}
	f.Add(wire.Marshal(&m), "w1")
	f.Fuzz(func(t *testing.T, body []byte, from string) {
		w := newWorld(t, Options{})
		w.connect("a", 1, 1)
		w.decide(machine.Input{Inbox: &events.EntityMessage{From: from, Body: body}})
	})
}
