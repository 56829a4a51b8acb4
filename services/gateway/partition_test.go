package gateway_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/shared/events"
)

// Each partition gets its own operators' words, wherever their keys belong; what is no
// range, or of nobody, is refused before any planner is asked.
func TestALossIsAcceptedForOnePartition(t *testing.T) {
	var mu sync.Mutex
	var asked []requesttest.Request
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q)
		if q.Command.Workflow == events.PartitionWorkflow(0) {
			return []events.Reply{requesttest.Refuse("no_loss", "nothing is gone", "")}
		}
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	})
	for _, bad := range []struct {
		path, body string
		status     int
		code, at   string
	}{
		{"1", `{"log":"inbox","from":5,"to":9,"by":"ann"}`, 422, "missing_field", "why: "},
		{"1", `{"log":"inbox","from":5,"to":5,"by":"ann","why":"gone"}`, 422, "invalid_field", "to: "},
		{"1", `{"log":"authority","from":5,"to":9,"by":"ann","why":"gone"}`, 422, "invalid_field", "log: "},
		{"1", `{"logs":"inbox"}`, 400, "unknown_field", "logs: "},
		{"2", `{}`, 404, "not_found", "there is no partition"},
		{"x", `{}`, 404, "not_found", "there is no partition"},
	} {
		got := r.ask(t, "POST", "/v1/partitions/"+bad.path+"/accept-loss", bad.body)
		told, _ := got.field("detail").(string)
		if got.status != bad.status || got.code() != bad.code || !strings.HasPrefix(told, bad.at) {
			t.Errorf("%s: %d %s: %s", bad.body, got.status, got.code(), got.body)
		}
	}
	if got := r.ask(t, "POST", "/v1/workflows/_partition%2F1/checkpoint", ""); got.status != 422 || got.code() != "invalid_workflow_id" {
		t.Errorf("a partition as a workflow: %d %s", got.status, got.body)
	}
	if len(asked) != 0 {
		t.Fatalf("planners were asked %+v", asked)
	}
	body := `{"log":"inbox","from":5,"to":9,"by":"ann","why":"the disk died"}`
	if got := r.ask(t, "POST", "/v1/partitions/1/accept-loss", body); got.status != 200 || got.field("result") != "done" {
		t.Errorf("accepted: %d %s", got.status, got.body)
	}
	if got := r.ask(t, "POST", "/v1/partitions/0/accept-loss", body); got.code() != "no_loss" {
		t.Errorf("nothing to accept: %d %s", got.status, got.body)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, p := range []int32{1, 0} {
		if k := asked[i].Record; k.Partition != p || string(k.Key) != events.PartitionWorkflow(p) || string(k.Value) != body {
			t.Errorf("to partition %d with key %s: %s", k.Partition, k.Key, k.Value)
		}
	}
}
