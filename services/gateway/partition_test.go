package gateway_test

import (
	"maps"
	"slices"
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

// byAnn is who gives a word, and why.
const byAnn = `{"by":"ann","why":"it hangs"}`

// Each word of an operator goes to its partition as the command that it is, with who and why.
func TestOperatorsCommandPartitions(t *testing.T) {
	var mu sync.Mutex
	var asked []requesttest.Request
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q)
		return []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone}}
	})
	words := map[string]string{
		"force-release": "force_release", "mark-stale": "mark_stale", "request-replay": "request_replay", "checkpoint": "checkpoint",
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		path := "/v1/partitions/1/" + word
		for body, at := range map[string]string{`{"why":"it hangs"}`: "by: ", `{"by":"ann"}`: "why: "} {
			got := r.ask(t, "POST", path, body)
			if told, _ := got.field("detail").(string); got.status != 422 || got.code() != "missing_field" || !strings.HasPrefix(told, at) {
				t.Errorf("%s %s: %d %s", path, body, got.status, got.body)
			}
		}
		if len(asked) != 0 {
			t.Fatalf("planners were asked %+v", asked)
		}
		if got := r.ask(t, "POST", path, byAnn); got.status != 200 || got.field("result") != "done" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		mu.Lock()
		if len(asked) != 1 || asked[0].Command.Name != words[word] || asked[0].Record.Partition != 1 {
			t.Errorf("%s asked for %+v", word, asked)
		}
		asked = nil
		mu.Unlock()
	}
}
