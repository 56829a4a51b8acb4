package gateway_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// historian answers queries about w as of its last written record.
func historian(q requesttest.Request) []events.Reply {
	if q.Query != nil && q.Query.Kind == "workflow" && q.Query.Workflow != "missing" {
		created := time.UnixMilli(begin).UTC().Format(time.RFC3339Nano)
		return []events.Reply{requesttest.Answer(strings.Replace(summary("w", "idle"), "2026-01-02T03:04:05.000Z", created, 1))}
	}
	if q.Query != nil && q.Query.Kind == events.DispatchesQuery {
		return []events.Reply{requesttest.Answer(`[{"request_id":"t1","target":"mail","status":"pending","created_at":"2026-01-02T03:04:05Z"}]`)}
	}
	if q.Query != nil && strings.HasPrefix(q.Query.Workflow, events.PoolPrefix) {
		return pooled(q)
	}
	return planner(q)
}

const begin = 1_767_000_000_000

// journals writes the history of w: two records, of which the first has two events.
func (r *rig) journals(t *testing.T) {
	t.Helper()
	r.append(t,
		&events.Record{Position: events.Position{Epoch: 1, Seq: 1}, Time: begin - 1, Events: []events.Event{
			&events.AuthorityAcquired{Owner: "p", LeaseID: "l", LeasedUntil: begin}}},
		&events.Record{Position: events.Position{Epoch: 1, Seq: 2}, Time: begin, Workflow: "w", Events: []events.Event{
			&events.WorkflowStarted{Name: "double", Digest: "sha256:0"}, &events.InputAccepted{Fact: 1, Value: json.RawMessage("[\n21]")}}},
		&events.Record{Position: events.Position{Epoch: 1, Seq: 3}, Time: begin + 1, Workflow: "other", Events: []events.Event{&events.WorkflowIdle{}}},
		&events.Record{Position: events.Position{Epoch: 1, Seq: 4}, Time: begin + 2, Workflow: "w", Events: []events.Event{
			&events.FactProduced{Fact: 2, Component: 0, Scope: 1, Parents: []events.FactID{1}, Value: json.RawMessage("42")}, &events.WorkflowIdle{}}},
	)
}

func (r *rig) append(t *testing.T, list ...*events.Record) {
	t.Helper()
	cl, err := kafka.NewJournalProducer(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, rec := range list {
		if err := cl.ProduceSync(r.ctx, journal.Encode(rec, r.Topics.Names, 1)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistoryComesInPages(t *testing.T) {
	r := start(t, historian)
	r.journals(t)
	want := []string{"WorkflowStarted", "InputAccepted", "FactProduced", "WorkflowIdle"}
	for _, limit := range []string{"1", "2", "3", "4", "100"} {
		var got []string
		for cursor := ""; ; {
			a := r.ask(t, "GET", "/v1/workflows/w/history?limit="+limit+"&cursor="+url.QueryEscape(cursor), "")
			var page struct {
				Items []struct {
					Type      string `json:"type"`
					Component string `json:"component"`
				} `json:"items"`
				Next *string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			for _, item := range page.Items {
				got = append(got, item.Type)
				if item.Type == "FactProduced" && item.Component != "a" {
					t.Errorf("the component is %q, want a", item.Component)
				}
			}
			if page.Next == nil {
				break
			}
			cursor = *page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %s: got %q, want %q", limit, got, want)
		}
	}
	if a := r.ask(t, "GET", "/v1/workflows/w/history?cursor=7", ""); a.status != 400 || a.code() != "invalid_parameter" {
		t.Errorf("a cursor that is none: %d %s", a.status, a.body)
	}
}

// follow reads an event stream: ids and types of n events.
func (r *rig) follow(t *testing.T, last string, n int, during func(i int)) (ids, types []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+"/v1/workflows/w/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	for len(types) < n && lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e struct{ Type string }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			types = append(types, e.Type)
			if during != nil {
				during(len(types))
			}
		}
	}
	return ids, types
}

func TestEventsComeLiveAndAreTakenUpAgain(t *testing.T) {
	r := start(t, historian)
	r.journals(t)
	want := []string{"WorkflowStarted", "InputAccepted", "FactProduced", "WorkflowIdle", "WorkflowPaused"}
	ids, types := r.follow(t, "", 5, func(i int) {
		if i == 4 {
			r.append(t, &events.Record{Position: events.Position{Epoch: 1, Seq: 5}, Time: begin + 3, Workflow: "w",
				Events: []events.Event{&events.WorkflowPaused{}}})
		}
	})
	if !slices.Equal(types, want) {
		t.Fatalf("got %q, want %q", types, want)
	}
	for i := range 4 {
		if _, rest := r.follow(t, ids[i], 4-i, nil); !slices.Equal(rest, want[i+1:]) {
			t.Errorf("behind %s: got %q, want %q", ids[i], rest, want[i+1:])
		}
	}
	if a := r.ask(t, "GET", "/v1/workflows/missing/events", ""); a.status != 404 {
		t.Errorf("a workflow of nobody: %d %s", a.status, a.body)
	}
}

func TestStreamsEndWithTheWorkflowAndWithTheGateway(t *testing.T) {
	r := start(t, historian)
	r.journals(t)
	_, types := r.follow(t, "", 100, func(i int) {
		if i == 4 {
			r.append(t, &events.Record{Position: events.Position{Epoch: 1, Seq: 5}, Time: begin + 3, Workflow: "w",
				Events: []events.Event{&events.WorkflowDeleted{}}})
		}
	})
	if types[len(types)-1] != "WorkflowDeleted" {
		t.Fatalf("got %q", types)
	}
	r2 := start(t, historian)
	r2.journals(t)
	if _, types := r2.follow(t, "", 100, func(i int) {
		if i == 4 {
			go r2.gw.Close()
		}
	}); len(types) != 4 {
		t.Fatalf("got %q", types)
	}
}

// A stream ends with the record that closes the workflow, and so does one of a
// workflow that is closed already; behind the end there is nothing to come for.
func TestStreamsOfClosedWorkflowsEnd(t *testing.T) {
	var closed atomic.Bool
	r := start(t, func(q requesttest.Request) []events.Reply {
		list := historian(q)
		if q.Query != nil && q.Query.Kind == "workflow" && closed.Load() {
			list[0].Body = json.RawMessage(strings.NewReplacer(`"idle"`, `"cancelled"`, `"1.4"`, `"1.6"`).Replace(string(list[0].Body)))
		}
		return list
	})
	r.journals(t)
	want := []string{"WorkflowStarted", "InputAccepted", "FactProduced", "WorkflowIdle", "WorkflowCancelled", "CheckpointRequested"}
	_, types := r.follow(t, "", 100, func(i int) {
		if i == 4 {
			r.append(t, &events.Record{Position: events.Position{Epoch: 1, Seq: 5}, Time: begin + 3, Workflow: "w",
				Events: []events.Event{&events.WorkflowCancelled{}, &events.CheckpointRequested{}}})
		}
	})
	if !slices.Equal(types, want) {
		t.Fatalf("live: got %q, want %q", types, want)
	}
	closed.Store(true)
	r.append(t, &events.Record{Position: events.Position{Epoch: 1, Seq: 6}, Time: begin + 4, Workflow: "w",
		Events: []events.Event{&events.CommandRefused{Command: "pause", Code: "closed"}}})
	ids, types := r.follow(t, "", 100, nil)
	if want = append(want, "CommandRefused"); !slices.Equal(types, want) {
		t.Fatalf("closed: got %q, want %q", types, want)
	}
	if a := r.ask(t, "GET", "/v1/workflows/w/events", "", "Last-Event-ID", ids[len(ids)-1]); a.status != 204 || a.body != "" {
		t.Errorf("behind the end: %d %s", a.status, a.body)
	}
}

func TestWatchersAreBounded(t *testing.T) {
	r := start(t, historian, func(c *gateway.Config) { c.Limits.Watchers = 1 })
	r.journals(t)
	r.follow(t, "", 1, func(int) {
		if a := r.ask(t, "GET", "/v1/workflows/w/events", ""); a.status != 429 || a.code() != "too_many_watchers" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
