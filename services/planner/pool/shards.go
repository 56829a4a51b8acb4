package pool

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// A pool with shards is as many entities, each of which is a pool by itself: it has sessions, a queue and an order of its own. They
// have in common what is in this file: to which of them a runner belongs, and that free slots of one are not kept from what waits in another.

const (
	mostDoublings = 4 // how often the time doubles between two questions for free slots, if none has any
	soon          = 5 // by how much it is shorter, if some have
)

// resize takes note of another number of shards.
func (t *turn) resize() {
	if n := max(1, t.options.Shards); t.head != nil && max(1, t.head.Shards) != n {
		t.emit(&events.PoolResized{Shards: n})
	}
}

// resized finds the runners that belong to another shard by now: they get no more work, and go there once they have none.
func (t *turn) resized(e *events.PoolResized) {
	if t.head == nil {
		return
	}
	t.h().Shards = e.Shards
	strayed := map[uint64]bool{}
	rows.Scan(t.tx, sessionKey(t.id, 0), func(k rows.Key, s *session) bool {
		if away := events.ShardFor(t.pool, e.Shards, s.Key) != t.name; away != s.Away && s.State != stopped {
			strayed[k.A] = away
		}
		return true
	})
	for n, away := range strayed { // order: each is a session by itself
		s := t.changed(n)
		s.Away = away
		t.settle(n, s)
	}
}

// shards is how many shards the pool has of which this is the name; 0: it has one, or this is one of them.
func (t *turn) shards() int {
	if t.name != t.pool || t.options.Shards <= 1 {
		return 0
	}
	return t.options.Shards
}

// runnerOf is a runner by its id or its key.
func (t *turn) runnerOf(name string) events.PoolRunner {
	v := events.PoolRunner{Shards: t.shards()}
	if n, s := t.find(name); s != nil {
		one := t.runner(n, s)
		v.Runner = &one
	}
	return v
}

// asks is when other shards are asked for free slots: the next attempt has waited for a while, and nobody here takes it. 0: they are not.
func (t *turn) asks() int64 {
	if t.head.Queued == 0 || len(t.others()) == 0 {
		return 0
	}
	wait := t.settings.Ask.Milliseconds()
	again := wait / soon
	if n := t.head.Asks; n > 0 {
		again = wait << min(n-1, mostDoublings)
	}
	return max(t.work(t.first()).Since+wait, t.head.Asked+again)
}

// others are the ids of the other shards.
func (t *turn) others() (all []string) {
	for _, name := range events.Shards(t.pool, t.options.Shards) {
		if name != t.name {
			all = append(all, events.PoolOf(name))
		}
	}
	return all
}

// ask asks the other shards for free slots, if it is time.
func (t *turn) ask() {
	if t.head == nil || t.waits() {
		return
	}
	if at := t.asks(); at != 0 && at <= t.now {
		t.emit(&events.SlotsAsked{Shards: t.others()})
	}
}

func (t *turn) slotsAsked() {
	if t.head == nil {
		return
	}
	h := t.h()
	h.Asked = t.now
	h.Asks++
}

// toldByShard takes what another shard of the pool says.
func (t *turn) toldByShard(from string, m *events.PoolMessage) {
	name, err := events.ParsePoolID(from)
	if pool, _ := events.SplitShard(name); err != nil || pool != t.pool || name == t.name || t.head == nil {
		return
	}
	if m.Verb == events.PoolAsk {
		if n := t.spare(); n > 0 {
			t.emit(&events.SlotsSpared{Shard: from, Slots: n})
		}
		return
	}
	for range min(m.Slots, mostEach) {
		if t.head.Queued == 0 || t.waits() {
			return
		}
		n := t.first()
		t.emit(&events.WorkOver{
			Number: n, Token: t.work(n).Token, Tells: events.PoolReturn, Shard: from, Reason: "another shard of its pool has free slots",
		})
	}
}

// spare are the slots that are free while nothing waits, but not more than one record gives.
func (t *turn) spare() (n uint64) {
	if t.head.Queued > 0 {
		return 0
	}
	from := rows.Key{Table: rows.Latest, Workflow: t.id}
	first := true
	rows.Scan(t.tx, from, func(k rows.Key, _ *nothing) bool {
		if first {
			from, first = k, false
		}
		if k.A>>32 != from.A>>32 && !t.options.Overflow {
			return false // a newer version is there
		}
		n += uint64(t.session(k.C).free())
		return n < mostEach
	})
	return min(n, mostEach)
}
