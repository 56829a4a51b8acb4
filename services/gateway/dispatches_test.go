package gateway_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
)

// The partition of the path is asked, and no planner where the question makes no sense.
func TestDispatchRecordsAreThoseOfAPartition(t *testing.T) {
	var mu sync.Mutex
	var asked []events.Query
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, *q.Query)
		body, err := json.Marshal([]delivery.Record{{RequestID: "t1", Target: "mail", Status: delivery.Failed}})
		if err != nil {
			t.Error(err)
		}
		return []events.Reply{{Kind: events.ReplyAnswer, Result: events.ResultDone, Body: body}}
	})
	for path, code := range map[string]string{
		"2/dispatches": "not_found", "1/dispatches?status=lost": "invalid_parameter", "1/dispatches?limit=0": "invalid_parameter",
		"1/dispatches?state=failed": "unknown_parameter",
	} {
		if got := r.ask(t, "GET", "/v1/partitions/"+path, ""); got.code() != code {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if len(asked) != 0 {
		t.Fatalf("a planner was asked %+v", asked)
	}
	got := r.ask(t, "GET", "/v1/partitions/1/dispatches?status=failed&queue=mail&limit=7", "")
	items, _ := got.field("items").([]any)
	if got.status != 200 || len(items) != 1 || items[0].(map[string]any)["request_id"] != "t1" {
		t.Errorf("%d %s", got.status, got.body)
	}
	mu.Lock()
	defer mu.Unlock()
	if q := asked[0]; len(asked) != 1 || q.Kind != "dispatches" || q.Workflow != "_partition/1" || q.Filter != "failed" || q.Queue != "mail" || q.Limit != 7 {
		t.Errorf("asked: %+v", asked)
	}
}
