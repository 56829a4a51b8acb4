package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// attemptToken is the token of an attempt.
var attemptToken = events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w", Runnable: 3, Attempt: 1}))

// pooled answers for the pool images, which has three runners, and for a partition that has no other.
func pooled(q requesttest.Request) []events.Reply {
	if q.Query == nil {
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	}
	sum := events.PoolSummary{Name: "images", Connected: 3, Slots: 6, Queued: 1}
	runner := func(n int) events.RunnerState {
		return events.RunnerState{ID: fmt.Sprintf("images.1.%d", n), Key: fmt.Sprint(n), Pool: "images", State: "connected", Work: []events.PoolWork{}, Names: []string{}}
	}
	var body any
	has := q.Record.Partition == kafka.PartitionFor([]byte("pool:images"), 2)
	switch q.Query.Kind {
	case events.PoolsQuery:
		l := events.PoolList{Items: []events.PoolSummary{}}
		if has && q.Query.Cursor == "" {
			l.Items = append(l.Items, sum)
		}
		body = l
	case events.RunnersQuery:
		l := events.RunnerList{Items: []events.RunnerState{}}
		if !has && q.Query.Workflow == "pool:images" {
			panic("another partition was asked for a pool")
		}
		if _, after, _ := events.ParseRunnerCursor(q.Query.Cursor); has {
			for n := int(after) + 1; n <= 3; n++ {
				if len(l.Items) == int(q.Query.Limit) {
					l.Next = events.RunnerCursor("pool:images", uint64(n-1))
					break
				}
				l.Items = append(l.Items, runner(n))
			}
		}
		body = l
	case events.RunnerQuery:
		body = events.PoolRunner{}
	case events.PoolQuery:
		if q.Query.Workflow != "pool:images" {
			return []events.Reply{{Kind: events.ReplyAnswer, Result: events.ResultRefused, Refusal: &events.Refusal{Code: "not_found", Message: "no such pool"}}}
		}
		v := events.PoolState{PoolSummary: sum, Runners: []events.RunnerState{runner(1)}, Queue: []events.PoolWork{}}
		if q.Query.Filter == attemptToken {
			v.Asked = &events.PoolWork{Workflow: "w", Runnable: "r3", Attempt: 1, Queue: "images", State: "queued", Place: 7, Since: "2026-01-02T03:04:05.000Z"}
		}
		body = v
	default:
		return planner(q)
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return []events.Reply{requesttest.Answer(string(b))}
}

func TestPoolsAndTheirRunnersAreShown(t *testing.T) {
	r := start(t, pooled)
	if a := r.ask(t, "GET", "/v1/pools", ""); a.status != 200 || strings.Count(a.body, `"name":"images"`) != 1 || a.field("next_cursor") != nil {
		t.Errorf("pools: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "GET", "/v1/pools/images?attempt="+attemptToken, ""); a.status != 200 || a.field("slots") != 6.0 || a.field("asked.place") != 7.0 {
		t.Errorf("the pool: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "GET", "/v1/pools/others", ""); a.status != 404 || a.code() != "not_found" {
		t.Errorf("another pool: %d %s", a.status, a.body)
	}
	for _, bad := range []string{"/v1/pools/a%20b", "/v1/pools/images?attempt=x", "/v1/runners?pool=a%20b", "/v1/runners?cursor=0,x", "/v1/pools?cursor=0,key:rate/a", "/v1/runners?pool=images&cursor=9,"} {
		if a := r.ask(t, "GET", bad, ""); a.status != 400 || a.code() != "invalid_parameter" {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
}

// Each runner is listed once, of all pools and of one, whatever the size of the pages.
func TestRunnersAreListedInPages(t *testing.T) {
	r := start(t, pooled)
	for _, filter := range []string{"", "&pool=images"} {
		for limit := 1; limit <= 4; limit++ {
			var got []string
			for cursor := ""; ; {
				a := r.ask(t, "GET", fmt.Sprintf("/v1/runners?limit=%d&cursor=%s%s", limit, url.QueryEscape(cursor), filter), "")
				var page gateway.List[events.RunnerState]
				if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 || len(page.Items) > limit {
					t.Fatalf("%d %s, %v", a.status, a.body, err)
				}
				for _, one := range page.Items {
					got = append(got, one.Key)
				}
				if page.Next == nil {
					break
				}
				cursor = *page.Next
			}
			if !slices.Equal(got, []string{"1", "2", "3"}) {
				t.Errorf("by pages of %d with %q there are %q", limit, filter, got)
			}
		}
	}
}

// An operator's word goes to the pool, with the runner that the path names, who gives it, and why.
func TestARunnerIsStoppedByItsKey(t *testing.T) {
	var mu sync.Mutex
	var asked []requesttest.Request
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		if q.Query == nil {
			asked = append(asked, q)
		}
		return pooled(q)
	})
	for _, bad := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"images/runners/a/stop", `{"by":"ann"}`, 422, "missing_field"},
		{"images/runners/a/stop", `{"why":"it hangs"}`, 422, "missing_field"},
		{"images/runners/a/stop", `{"runner":"b","by":"ann","why":"it hangs"}`, 400, "unknown_field"},
		{"a%20b/runners/a/stop", byAnn, 400, "invalid_parameter"},
	} {
		if a := r.ask(t, "POST", "/v1/pools/"+bad.path, bad.body); a.status != bad.status || a.code() != bad.code {
			t.Errorf("%s %s: %d %s", bad.path, bad.body, a.status, a.body)
		}
	}
	mu.Lock()
	if len(asked) > 0 {
		t.Fatalf("planners were asked %+v", asked)
	}
	mu.Unlock()
	if a := r.ask(t, "POST", "/v1/pools/images/runners/host%2F1/stop", `{"now":true,"by":"ann","why":"it hangs"}`); a.status != 200 || a.field("result") != "done" {
		t.Errorf("%d %s", a.status, a.body)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked[0].Command.Workflow != "pool:images" {
		t.Fatalf("%+v", asked)
	}
	if b, ok := asked[0].Command.Body.(*events.StopRunner); !ok || b.Runner != "host/1" || !b.Now || b.Who != "ann" || b.Why != "it hangs" {
		t.Errorf("%+v", asked[0].Command.Body)
	}
}
