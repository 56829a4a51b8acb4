package pool

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// sharded is the entities of a pool with shards, each in a partition of its own. Their workflows do as planners do, and
// have no more attempts than one at a time; their executors do as package runners does.
type sharded struct {
	t       fataler
	m       *Machine
	now     int64
	shards  map[string]*world // by id
	heard   map[string]int    // of what each has said
	at      map[int]string    // the entity that was offered an attempt, as long as its workflow wants it
	next    int               // the newest attempt
	becomes map[int]int       // the attempt that has taken the place of one that was returned
}

func newSharded(t fataler, o Options) *sharded {
	return &sharded{
		t: t, m: New(Settings{Pools: map[string]Options{"images": o}}), now: 1_000_000,
		shards: map[string]*world{}, heard: map[string]int{}, at: map[int]string{}, becomes: map[int]int{},
	}
}

func (c *sharded) n() int { return c.m.settings.Pools["images"].Shards }

// shard is an entity by the name of the shard.
func (c *sharded) shard(name string) *world {
	id := events.PoolOf(name)
	w := c.shards[id]
	if w == nil {
		w = &world{t: c.t, m: c.m, id: id}
		c.shards[id] = w
	}
	w.now = c.now
	return w
}

func (c *sharded) names() []string { return slices.Sorted(maps.Keys(c.shards)) }

// resize has the owners of all partitions start with other settings: what waits moves along.
func (c *sharded) resize(n int) {
	o := c.m.settings.Pools["images"]
	o.Shards = n
	c.m.settings.Pools = map[string]Options{"images": o}
	for _, attempt := range slices.Sorted(maps.Keys(c.at)) {
		id := c.at[attempt]
		name, _ := events.ParsePoolID(id)
		if w := c.shards[id]; !events.IsShard(name, "images", n) && w.numberOf(attempt) != nil && !w.numberOf(attempt).Begun {
			c.withdraw(attempt)
			c.again(attempt, "")
		}
	}
	c.deliver()
}

// numberOf is an attempt that a shard has; nil: it has it not.
func (w *world) numberOf(n int) *work {
	t := w.turn()
	return t.work(t.numberOf(byToken, string(token(n))))
}

// offer offers a new attempt.
func (c *sharded) offer() int {
	c.t.Helper()
	c.next++
	c.offerTo(c.next, events.ShardFor("images", c.n(), fmt.Sprint(c.next)))
	return c.next
}

func (c *sharded) offerTo(n int, name string) {
	c.t.Helper()
	c.next = max(c.next, n)
	c.at[n] = events.PoolOf(name)
	c.shard(name).offerAt(n, 1)
	c.deliver()
}

// again offers another attempt in place of one.
func (c *sharded) again(n int, hint string) {
	delete(c.at, n)
	c.next++
	c.becomes[n] = c.next
	name, err := events.ParsePoolID(hint)
	if err != nil || !events.IsShard(name, "images", c.n()) {
		name = events.ShardFor("images", c.n(), fmt.Sprint(c.next))
	}
	c.offerTo(c.next, name)
}

func (c *sharded) withdraw(n int) {
	name, _ := events.ParsePoolID(c.at[n])
	delete(c.at, n)
	c.shard(name).withdraw(n)
}

// deliver delivers what entities have said, until nothing is on its way.
func (c *sharded) deliver() {
	for again := true; again; {
		again = false
		for _, id := range c.names() {
			w := c.shards[id]
			for c.heard[id] < len(w.said) {
				s := w.said[c.heard[id]]
				c.heard[id]++
				again = true
				c.hears(id, s)
			}
		}
	}
}

func (c *sharded) hears(from string, s said) {
	if name, err := events.ParsePoolID(s.to); err == nil {
		w := c.shard(name)
		w.decide(machine.Input{Inbox: &events.EntityMessage{From: from, Body: wire.Marshal(&s.PoolMessage)}})
		return
	}
	n := number(s.Token)
	if c.at[n] != from {
		c.t.Fatalf("attempt %d is told of by %s, and is at %q", n, from, c.at[n])
	}
	if s.Verb == events.PoolReturn {
		c.again(n, s.Shard)
		return
	}
	delete(c.at, n)
}

// plug connects a process on a new socket: to the shard that it remembers, if it says so, or else to the pool. It returns the names of
// the shards that were greeted; the last of them has the session.
func (c *sharded) plug(r *runner) (greeted []string) {
	c.t.Helper()
	name := "images"
	if shard := events.ShardOfRunner("images", r.id); shard != "" {
		name = shard
	}
	for range 2 {
		greeted = append(greeted, name)
		r.w, r.sentOn = c.shard(name), ""
		welcome := r.again("x") != nil
		if welcome || r.sentOn == "" {
			r.hello.Sent = false
			c.deliver()
			return greeted
		}
		if r.hello.Sent {
			break
		}
		r.hello.Sent = true
		name, _ = events.ParsePoolID(r.sentOn)
	}
	c.t.Fatalf("%s was sent on twice: %v, and to %s", r.hello.Key, greeted, r.sentOn)
	return nil
}

// passes lets time pass, in which executors say that they are there.
func (c *sharded) passes(ms int64) {
	for end := c.now + ms; c.now < end; {
		c.now = min(c.now+100, end)
		for _, id := range c.names() {
			w := c.shards[id]
			w.until(c.now)
			if c.now%4000 < 100 {
				w.decide(machine.Input{Inbox: &events.RunnerReport{Connection: events.Connection{Executor: "x"}}})
			}
		}
		c.deliver()
	}
}

// waiting are the attempts that wait in a shard, in their order.
func (c *sharded) waiting(name string) (all []int) {
	t := c.shard(name).turn()
	rows.Scan(t.tx, queueKey(t.id, 0, 0), func(k rows.Key, _ *nothing) bool {
		all = append(all, number(t.work(k.B).Token))
		return true
	})
	return all
}

// keyOf is the key of a runner that belongs to a shard.
func (c *sharded) keyOf(shard string) string {
	for n := 0; ; n++ {
		if key := fmt.Sprint("host-", n); events.ShardFor("images", c.n(), key) == shard {
			return key
		}
	}
}

// connect connects a process that belongs to a shard.
func (c *sharded) connect(shard string, slots uint32) *runner {
	c.t.Helper()
	key := c.keyOf(shard)
	r := &runner{hello: events.RunnerHello{Key: key, Name: key, Version: 1, Slots: slots, Instance: "of " + key}}
	c.plug(r)
	return r
}

// closed are the reasons for which sockets were closed.
func (w *world) closed() (all []string) {
	for _, m := range w.sent {
		if m.Close != "" {
			all = append(all, m.Close)
		}
	}
	return slices.Clip(all)
}
