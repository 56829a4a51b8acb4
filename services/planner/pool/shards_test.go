package pool

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// A runner that does not know of shards is sent to its own by the pool, and comes back to it without a detour.
func TestARunnerIsSentToItsShard(t *testing.T) {
	c := newSharded(t, Options{Shards: 4})
	r := &runner{hello: events.RunnerHello{Key: c.keyOf("images/3"), Version: 1, Slots: 2, Instance: "i"}}
	want(t, "greeted first", c.plug(r), []string{"images", "images/3"})
	id := r.id
	want(t, "shard by its id", events.ShardOfRunner("images", id), "images/3")
	r.report(events.RunnerReport{Closed: "the socket broke"})
	want(t, "greeted again", c.plug(r), []string{"images/3"})
	want(t, "id", r.id, id)
	r.id, r.hello.Instance = "", "another process"
	want(t, "greeted by another process", c.plug(r), []string{"images", "images/3"})
	if r.id == id {
		t.Error("another process has the session of the one before")
	}
	if n := len(c.shard("images").state.Keys()); n > 0 {
		t.Errorf("the pool remembers %d rows of runners that its shards have", n)
	}
}

// Who says that it belongs to a shard that has no session of it is sent to the right one.
func TestARunnerThatRemembersAWrongShardIsSentOn(t *testing.T) {
	c := newSharded(t, Options{Shards: 4})
	key := c.keyOf("images/3")
	for _, id := range []string{"images/2.1.7", "images/32.1.7"} {
		r := &runner{id: id, hello: events.RunnerHello{Key: key, Version: 1, Slots: 2, Instance: "i"}}
		want(t, "greeted", c.plug(r)[1:], []string{"images/3"})
	}
}

// The number of shards changes: a runner that has work keeps it, gets no more, and goes to its shard once that is done.
func TestARunnerMovesOnceItHasNoWork(t *testing.T) {
	for _, n := range []struct{ from, to int }{{1, 4}, {4, 1}, {4, 3}} {
		c := newSharded(t, Options{Shards: n.from})
		old := events.Shards("images", n.from)[n.from-1]
		key := ""
		for i := range 100 { // one that moves
			if key = string(rune('a'+i%26)) + string(rune('a'+i/26)); events.ShardFor("images", n.from, key) == old && events.ShardFor("images", n.to, key) != old {
				break
			}
		}
		r := &runner{hello: events.RunnerHello{Key: key, Version: 1, Slots: 2, Instance: "i"}}
		c.plug(r)
		c.offerTo(1, old)
		r.says(events.TaskRunning, 1)
		id := r.id
		c.m.settings.Pools = map[string]Options{"images": {Shards: n.to}}
		c.offerTo(2, old)
		want(t, "begun", r.started(), []int{1})
		want(t, "why it gets none", r.w.of(r).Passed, "it goes to another shard of the pool once it has no work")
		r.report(events.RunnerReport{Closed: "the socket broke"})
		want(t, "greeted while it has work", c.plug(r), []string{old})
		want(t, "id", r.id, id)
		r.report(events.RunnerReport{Silent: true})
		r.report(events.RunnerReport{Heard: true})
		want(t, "begun", r.started(), []int{1})
		c.passes(60_000)
		want(t, "closed", r.w.closed(), nil)
		want(t, "lost", r.w.told(), nil)

		r.says(events.TaskStopped, 1)
		c.passes(1)
		want(t, "closed", r.w.closed(), []string{frames.CloseGoingAway.Reason})
		home := events.ShardFor("images", n.to, key)
		want(t, "greeted without work", c.plug(r), []string{old, home})
		want(t, "slots in its shard", c.shard(home).turn().head.Runners.Free, uint64(2))
	}
}

// What waits where no runner takes it goes where slots are free: as much as there are slots, in the order of the queue.
func TestFreeSlotsOfOneShardAreForWhatWaitsInAnother(t *testing.T) {
	c := newSharded(t, Options{Shards: 2})
	r := c.connect("images/1", 2)
	for n := range 5 {
		c.offerTo(n+1, "images/2")
	}
	want(t, "begun at once", r.started(), nil)
	c.passes(300)
	want(t, "begun", r.started(), []int{6, 7}) // in place of 1 and 2
	want(t, "in place of the first", []int{c.becomes[1], c.becomes[2]}, []int{6, 7})
	want(t, "waiting", c.waiting("images/2"), []int{3, 4, 5})
	r.says(events.TaskStopped, 6)
	r.says(events.TaskStopped, 7)
	c.passes(5000)
	want(t, "begun", r.started(), []int{6, 7, 8, 9})
	want(t, "waiting", c.waiting("images/2"), []int{5})
	c.connect("images/2", 1)
	want(t, "waiting", c.waiting("images/2"), nil)
}

// Others are asked less and less often, and nobody is where the pool has one shard.
func TestShardsAskLessOftenWhereNobodyHasFreeSlots(t *testing.T) {
	for shards, most := range map[int]int{1: 0, 2: 22} {
		c := newSharded(t, Options{Shards: shards})
		c.offer()
		c.passes(60_000)
		asked := 0
		for _, w := range c.shards {
			for _, rec := range w.all {
				for _, e := range rec.Events {
					if _, is := e.(*events.SlotsAsked); is {
						asked++
					}
				}
			}
		}
		if asked > most || asked < most/2 {
			t.Errorf("%d shards: asked %d times in a minute, want at most %d", shards, asked, most)
		}
	}
}

// A shard in which something waits, or whose free slots are of runners that get no work, spares none.
func TestAShardSparesWhatItDoesNotNeed(t *testing.T) {
	for _, o := range []Options{{Shards: 2}, {Shards: 2, Overflow: true}} {
		c := newSharded(t, o)
		w := c.shard("images/1")
		spare := func() uint64 {
			if w.turn().head == nil {
				return 0
			}
			return w.turn().spare()
		}
		older := c.connect("images/1", 3)
		want(t, "free slots", spare(), uint64(3))
		newer := &runner{w: w, hello: events.RunnerHello{Key: "newer", Version: 2, Slots: 1, Instance: "n", Sent: true}}
		newer.again("x")
		free := map[bool][2]uint64{false: {1, 0}, true: {4, 3}}[o.Overflow]
		want(t, "free slots beside a newer version", spare(), free[0])
		c.offerTo(1, "images/1")
		want(t, "free slots beside a newer version that is full", spare(), free[1])
		want(t, "the newer has", newer.started(), []int{1})
		older.report(events.RunnerReport{Silent: true})
		want(t, "free slots of a silent one", spare(), uint64(0))
		c.offerTo(2, "images/1")
		want(t, "what waits", c.waiting("images/1"), []int{2})
		older.report(events.RunnerReport{Heard: true})
		want(t, "free slots, again", spare(), map[bool]uint64{false: 0, true: 2}[o.Overflow])
	}
}

// Only shards of the same pool are heard, and what they say late does no harm.
func TestWhatShardsSayToEachOther(t *testing.T) {
	c := newSharded(t, Options{Shards: 2})
	c.connect("images/1", 2)
	c.offerTo(1, "images/2")
	w := c.shard("images/2")
	for _, from := range []string{"pool:other/1", "pool:images/2", "w1", "pool:images/x"} {
		w.hearShard(from, events.PoolMessage{Verb: events.PoolSpare, Slots: 9})
	}
	want(t, "waiting", c.waiting("images/2"), []int{1})
	w.hearShard("pool:images/1", events.PoolMessage{Verb: events.PoolSpare, Slots: 9})
	c.deliver()
	want(t, "waiting", c.waiting("images/2"), nil)
	if list := w.hearShard("pool:images/1", events.PoolMessage{Verb: events.PoolSpare, Slots: 9}); len(list) > 0 {
		t.Errorf("free slots for nothing made %+v", list)
	}
}

func (w *world) hearShard(from string, m events.PoolMessage) []events.Event {
	return w.decide(machine.Input{Inbox: &events.EntityMessage{From: from, Body: wire.Marshal(&m)}})
}

// What a pool is at, and who has a runner, is told so that the shards can be asked for the rest.
func TestAPoolSaysThatItHasShards(t *testing.T) {
	c := newSharded(t, Options{Shards: 4})
	r := c.connect("images/3", 2)
	ask := func(name string, q events.Query, into any) {
		w := c.shard(name)
		q.Workflow = w.id
		answer := c.m.Query(rows.Begin(&w.state), c.now, &q)
		if answer.Refusal != nil {
			t.Fatalf("%+v", answer.Refusal)
		}
		if err := json.Unmarshal(answer.Body, into); err != nil {
			t.Fatal(err)
		}
	}
	var list events.RunnerList
	ask("images", events.Query{Kind: events.RunnersQuery}, &list)
	want(t, "runners of its own", len(list.Items), 0)
	var pool, shard events.PoolState
	ask("images", events.Query{Kind: events.PoolQuery}, &pool)
	ask("images/3", events.Query{Kind: events.PoolQuery}, &shard)
	want(t, "shards", []int{pool.Shards, shard.Shards}, []int{4, 0})
	want(t, "names", []string{pool.Name, shard.Name, shard.Runners[0].Pool}, []string{"images", "images/3", "images/3"})
	for _, name := range []string{r.id, r.hello.Key, "nobody"} {
		var has, not events.PoolRunner
		ask("images/3", events.Query{Kind: events.RunnerQuery, Filter: name}, &has)
		ask("images", events.Query{Kind: events.RunnerQuery, Filter: name}, &not)
		if (has.Runner != nil) != (name != "nobody") || not.Runner != nil || not.Shards != 4 || has.Shards != 0 {
			t.Errorf("%s: %+v, %+v", name, has, not)
		}
	}
	pool.Add(&shard)
	pool.Settle()
	want(t, "the sum", []uint64{pool.Connected, pool.Slots}, []uint64{1, 2})
}

// The lists of a partition have each shard by its name, and the runners of a pool are those of its shards.
func TestTheRunnersOfAPoolAreThoseOfItsShards(t *testing.T) {
	w := several(t, map[string]int{"images": 1, "images-2": 1, "images.x": 1, "images/2": 2, "images/10": 1, "images0": 1})
	var of []string
	for _, r := range pages[events.RunnerState](t, w, events.Query{Kind: events.RunnersQuery, Workflow: "pool:images", Limit: 1}) {
		of = append(of, r.Pool)
	}
	want(t, "runners", of, []string{"images", "images/10", "images/2", "images/2"})
	names := []string{}
	for _, p := range pages[events.PoolSummary](t, w, events.Query{Kind: events.PoolsQuery, Workflow: events.PoolPrefix, Limit: 2}) {
		names = append(names, p.Name)
	}
	want(t, "pools", names, slices.Sorted(slices.Values([]string{"images", "images-2", "images.x", "images/2", "images/10", "images0"})))
}
