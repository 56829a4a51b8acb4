package planner

import (
	"bytes"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

// openPool is the id of the pool that has the workflow's one open attempt.
func (w *world) openPool() string {
	w.t.Helper()
	return events.PoolOf(w.openRunnables("w")[0].Pool)
}

// returns has the pool that has the attempt return it, for free slots of another shard where one is named.
func (w *world) returns(shard string) {
	w.t.Helper()
	m := events.PoolMessage{Verb: events.PoolReturn, Shard: shard}
	for _, one := range w.toPool() {
		if one.Verb == events.PoolOffer {
			m.Token = one.Token
		}
	}
	w.decide(machine.Input{Workflow: "w", Source: events.FromInbox, Inbox: &events.EntityMessage{From: w.openPool(), Body: wire.Marshal(&m)}})
}

// An attempt that a shard returns for the free slots of another one goes there at once, however often; else it waits, and goes anywhere.
func TestAnAttemptGoesWhereSlotsAreFree(t *testing.T) {
	w := newWorld(t, setting{name: "plain"})
	w.p.cfg.Pools, w.p.cfg.Shards = map[string]string{"f": "images"}, map[string]int{"images": 4}
	if wrong := w.define("d", "name: d\ncomponents: {s: {step: f.inc}}"); wrong != "" {
		t.Fatal(wrong)
	}
	var said bytes.Buffer
	w.line(&said, "start w d 5")
	for n := range 20 {
		to := events.PoolOf(events.ShardName("images", 1+n%4))
		w.returns(to)
		if got := w.openPool(); got != to {
			t.Fatalf("it goes to %s, and %s has free slots", got, to)
		}
	}
	for _, wrong := range []string{"pool:images", "pool:images/5", "pool:other/1", "w"} {
		w.returns(wrong)
		if name, _ := events.ParsePoolID(w.openPool()); !events.IsShard(name, "images", 4) {
			t.Fatalf("free slots of %s take it to %s", wrong, name)
		}
	}
	seen := map[string]bool{}
	for range 40 {
		seen[w.openPool()] = true
		w.returns("")
		for w.openRunnables("w")[0].Status != "active" {
			w.line(&said, "advance 1000")
		}
	}
	if len(seen) != 4 {
		t.Errorf("its attempts went to %v only", seen)
	}
}

// The number of shards changes while an attempt waits: it moves only where its shard is no more.
func TestWorkMovesWhereItsShardIsNoMore(t *testing.T) {
	w := pooled(t, "{executor: 'pool:images'}")
	for _, shards := range []int{4, 4, 1, 2, 32, 1} {
		before := w.openPool()
		w.p.cfg.Shards = map[string]int{"images": shards}
		name, _ := events.ParsePoolID(before)
		moved := len(w.moves()) > 0
		if stays := events.IsShard(name, "images", shards); moved == stays {
			t.Errorf("%d shards: an attempt in %s moves: %t", shards, before, moved)
		}
		if name, _ := events.ParsePoolID(w.openPool()); !events.IsShard(name, "images", shards) {
			t.Errorf("%d shards: it is in %s", shards, name)
		}
	}
}
