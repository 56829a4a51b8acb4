package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/shared/events"
)

// sharded answers for the pool big, which has four shards: two with runners, of which the first has a queue, one that does not know of
// anything, and one with a queue that nobody takes from. The pool none has shards that know of nothing.
func sharded(q requesttest.Request) []events.Reply {
	if q.Query == nil {
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	}
	name, _ := events.ParsePoolID(q.Query.Workflow)
	pool, shard := events.SplitShard(name)
	answer := func(v any) []events.Reply {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return []events.Reply{requesttest.Answer(string(b))}
	}
	runner := events.RunnerState{ID: name + ".1.7", Key: fmt.Sprint("host-", shard), Pool: name, State: "connected", Work: []events.PoolWork{}, Names: []string{}}
	switch {
	case q.Query.Kind == events.RunnersQuery:
		l := events.RunnerList{Items: []events.RunnerState{}}
		for n := 1; n <= 2 && name == "big"; n++ {
			id := fmt.Sprintf("big/%d", n)
			if kafka.PartitionFor([]byte("pool:"+id), 2) == q.Record.Partition {
				l.Items = append(l.Items, events.RunnerState{ID: id + ".1.7", Pool: id})
			}
		}
		return answer(l)
	case q.Query.Kind == events.RunnerQuery:
		v := events.PoolRunner{}
		if shard == 0 {
			v.Shards = 4
		} else if shard <= 2 && q.Query.Filter == runner.Key {
			v.Runner = &runner
		}
		return answer(v)
	case shard == 0:
		return answer(events.PoolState{PoolSummary: events.PoolSummary{Name: name, Shards: 4}, Runners: []events.RunnerState{}, Queue: []events.PoolWork{}})
	case shard == 3 || pool != "big":
		return []events.Reply{{Kind: events.ReplyAnswer, Result: events.ResultRefused, Refusal: &events.Refusal{Code: "not_found", Message: "no such pool"}}}
	}
	v := events.PoolState{
		PoolSummary: events.PoolSummary{Name: name, Queued: 2, Oldest: fmt.Sprintf("2026-01-02T03:04:0%d.000Z", 9-shard), Waits: "no runner is connected"},
		Queue:       []events.PoolWork{{Workflow: name, Place: 1}, {Workflow: name, Place: 2}},
	}
	if shard <= 2 {
		v.Connected, v.Slots, v.Runners = 1, 4, []events.RunnerState{runner}
	}
	if q.Query.Filter != "" && shard == 4 {
		v.Asked = &events.PoolWork{Workflow: "w", State: "queued", Place: 2}
	}
	return answer(v)
}

// A pool with shards is shown as one: the sum of them, and the begins of their queues, with the shard of each place.
func TestAPoolWithShardsIsShownAsOne(t *testing.T) {
	r := start(t, sharded)
	a := r.ask(t, "GET", "/v1/pools/big?attempt="+attemptToken, "")
	for field, want := range map[string]any{
		"name": "big", "shards": 4.0, "connected": 2.0, "slots": 8.0, "queued": 6.0, "oldest": "2026-01-02T03:04:05.000Z",
		"waits": "in big/4, no runner is connected", "asked.shard": "big/4", "asked.place": 2.0,
	} {
		if got := a.field(field); got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	var v events.PoolState
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatal(err)
	}
	var queue []string
	for _, w := range v.Queue {
		queue = append(queue, fmt.Sprint(w.Place, " of ", w.Shard))
	}
	if got, want := strings.Join(queue, ", "), "1 of big/1, 1 of big/2, 1 of big/4, 2 of big/1, 2 of big/2, 2 of big/4"; got != want || len(v.Runners) != 2 {
		t.Errorf("the queue is %s, want %s; runners: %+v", got, want, v.Runners)
	}
	if a := r.ask(t, "GET", "/v1/pools/big%2F2", ""); a.status != 200 || a.field("name") != "big/2" || a.field("queued") != 2.0 {
		t.Errorf("a shard: %d %s", a.status, a.body)
	}
	for path, status := range map[string]int{"/v1/pools/none": 404, "/v1/pools/big%2F3": 404, "/v1/pools/big%2F33": 400, "/v1/pools/big%2Fx": 400} {
		if a := r.ask(t, "GET", path, ""); a.status != status {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := r.ask(t, "GET", "/v1/runners?pool=big", ""); strings.Count(a.body, `"pool":"big/`) != 2 {
		t.Errorf("its runners: %s", a.body)
	}
}

// The stop of a runner, by its key or by its id, goes to the shard that has it; where none has, to the pool, which says so.
func TestTheStopOfARunnerFindsItsShard(t *testing.T) {
	var mu sync.Mutex
	var to string
	r := start(t, func(q requesttest.Request) []events.Reply {
		if q.Command != nil {
			mu.Lock()
			defer mu.Unlock()
			to = q.Command.Workflow
		}
		return sharded(q)
	})
	for path, want := range map[string]string{
		"big/runners/host-2": "pool:big/2", "big/runners/big%2F4.1.9": "pool:big/4", "big/runners/nobody": "pool:big", "big%2F1/runners/host-2": "pool:big/1",
	} {
		if a := r.ask(t, "POST", "/v1/pools/"+path+"/stop", byAnn); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		mu.Lock()
		if to != want {
			t.Errorf("the stop of %s goes to %s, want %s", path, to, want)
		}
		mu.Unlock()
	}
}
