package gateway_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/shared/events"
)

// Where workflows live, and what waits for workers, is told without any planner.
func TestNoPlannerIsAskedWhereAWorkflowLives(t *testing.T) {
	r := start(t, func(q requesttest.Request) []events.Reply {
		t.Errorf("a planner is asked %+v", q)
		return nil
	})
	if a := r.ask(t, "GET", "/v1/queues", ""); a.status != 503 || a.code() != "unavailable" || !strings.Contains(a.body, "no readiness record") {
		t.Errorf("before anything is published: %d %s", a.status, a.body)
	}
	p := strconv.Itoa(int(kafka.PartitionFor([]byte("w"), 2)))
	ready := `{"readiness":{"ready":true,"reasons":[]}}`
	r.statuses(t, kafka.Placed(r.Topics.Authority(), 0, []byte(p), []byte(`{"authority":{"owner":"p1/7","lease_id":"l","leased_until":"2026-01-02T03:04:05Z","epoch":4}}`)))
	r.readiness(t, p, ready)
	r.readiness(t, "all", `{"ready":true,"partitions":[{"partition":`+p+`,"backlog":{"queues":{"mail":{"pending":3,"notified":1}}}}]}`)
	want := `{"id":"w","partition":` + p + `,"owner":{"instance":"p1/7","epoch":4,"leased_until":"2026-01-02T03:04:05Z"},` + ready[1:]
	var got, queues string
	awaitTrue(t, r.ctx, func() bool {
		got, queues = r.ask(t, "GET", "/v1/workflows/w/lookup", "").body, r.ask(t, "GET", "/v1/queues", "").body
		return strings.Contains(got, `"epoch":4`) && strings.Contains(got, `"ready":true`) && strings.Contains(queues, "mail")
	})
	if strings.TrimSpace(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	wantQueues := `{"items":[{"name":"mail","pending":3,"notified":1,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":null,"partitions":[{"partition":` + p +
		`,"pending":3,"notified":1,"delivered":0,"failed":0,"deferred":0,"oldest_pending_since":null}]}],"next_cursor":null}`
	if strings.TrimSpace(queues) != wantQueues {
		t.Errorf("got  %s\nwant %s", queues, wantQueues)
	}
	if a := r.ask(t, "GET", "/v1/workflows/a%20b/lookup", ""); a.status != 422 || a.code() != "invalid_workflow_id" {
		t.Errorf("an ID that none can have: %d %s", a.status, a.body)
	}
}
