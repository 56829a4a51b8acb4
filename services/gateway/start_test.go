package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

const inline = `{"definition":` + double + `,"input":21}`

func TestStartAnswersAsTheWaitSays(t *testing.T) {
	r := start(t, planner)
	for _, test := range []struct {
		query  string
		status int
		fields map[string]any
	}{
		{"", 202, map[string]any{"id": "w", "href": "/v1/workflows/w", "workflow": nil, "results": nil}},
		{"?wait=accepted", 201, map[string]any{"workflow.status": "running", "workflow.owner": nil, "results": nil}},
		{"?wait=5s", 200, map[string]any{"workflow.status": "idle", "results.a": 42.0}},
	} {
		got := r.ask(t, "PUT", "/v1/workflows/w"+test.query, inline)
		if got.status != test.status {
			t.Errorf("%s: %d %s", test.query, got.status, got.body)
		}
		for path, want := range test.fields {
			if got.field(path) != want {
				t.Errorf("%s: %s is %v, want %v", test.query, path, got.field(path), want)
			}
		}
	}
}

func TestWaitThatEndsFirstSaysWhereToLook(t *testing.T) {
	r := start(t, func(q requesttest.Request) []events.Reply {
		if q.Query != nil {
			return []events.Reply{requesttest.Answer(summary("a/b", "running"))}
		}
		return planner(q)[:1]
	})
	got := r.ask(t, "PUT", "/v1/workflows/a%2Fb?wait=100ms", inline)
	if got.status != 202 || got.header.Get("Location") != "/v1/workflows/a%2Fb" || got.field("id") != "a/b" {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
}

func TestStartOfAnIDThatExistsShowsTheRunThatDoes(t *testing.T) {
	r := start(t, planner)
	got := r.ask(t, "PUT", "/v1/workflows/taken?wait=accepted", inline)
	if got.status != 409 || got.code() != "already_started" || got.field("workflow.definition.name") != "double" ||
		got.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%d %s", got.status, got.body)
	}
}

func TestIdempotencyKeyIsTheCommandsID(t *testing.T) {
	var mu sync.Mutex
	var ids, workflows []string
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		ids, workflows = append(ids, q.Command.Source+":"+q.Command.ID), append(workflows, q.Command.Workflow)
		return planner(q)
	})
	for range 2 {
		if got := r.ask(t, "POST", "/v1/workflows?wait=accepted", inline, "Idempotency-Key", "order-17"); got.status != 201 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	r.ask(t, "POST", "/v1/workflows?wait=accepted", inline)
	r.ask(t, "POST", "/v1/workflows?wait=accepted", inline)
	if ids[0] != "gateway:order-17" || ids[1] != ids[0] || workflows[1] != workflows[0] {
		t.Fatalf("with a key: %q of %q", ids[:2], workflows[:2])
	}
	if ids[2] == ids[3] || workflows[2] == workflows[3] || !strings.HasPrefix(workflows[2], "wf-") {
		t.Fatalf("without one: %q of %q", ids[2:], workflows[2:])
	}
	if got := r.ask(t, "POST", "/v1/workflows", inline, "Idempotency-Key", strings.Repeat("k", 256)); got.code() != "invalid_parameter" {
		t.Fatalf("a long key: %s", got.body)
	}
}

func TestRegisteredDefinitionStartsAtOnceThoughPlannersLag(t *testing.T) {
	for _, query := range []string{"", "?wait=accepted", "?wait=5s"} {
		t.Run(query, func(t *testing.T) {
			var mu sync.Mutex
			var sent []string
			r := start(t, func(q requesttest.Request) []events.Reply {
				mu.Lock()
				defer mu.Unlock()
				if q.Command == nil {
					return planner(q)
				}
				def := string(q.Command.Body.(*events.StartWorkflow).Definition)
				sent = append(sent, q.Command.ID+" "+def[:8])
				if def[0] == '"' {
					return []events.Reply{requesttest.Refuse("unknown_definition", "not read yet", "definition")}
				}
				return planner(q)
			})
			if got := r.ask(t, "PUT", "/v1/definitions/double", double); got.status != 200 || got.field("version") != "1" {
				t.Fatalf("%d %s", got.status, got.body)
			}
			got := r.ask(t, "PUT", "/v1/workflows/w"+query, `{"definition":"double","input":1}`, "Idempotency-Key", "k")
			if got.status >= 300 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			awaitTrue(t, r.ctx, func() bool { mu.Lock(); defer mu.Unlock(); return len(sent) == 2 })
			if sent[0] != `k "sha256:` || sent[1] != `k/inline {"compon` {
				t.Fatalf("sent %q", sent)
			}
		})
	}
}

// A client that waits for the results has no use for the decision, so none is asked for.
func TestWhoWaitsForTheEndAsksForTheEndAlone(t *testing.T) {
	for query, want := range map[string]events.ReplyTo{
		"?wait=5s": {Wait: true, End: true}, "?wait=accepted": {},
	} {
		asked := make(chan events.ReplyTo, 1)
		r := start(t, func(q requesttest.Request) []events.Reply {
			asked <- events.ReplyTo{Wait: q.Command.ReplyTo.Wait, End: q.Command.ReplyTo.End}
			return planner(q)
		})
		if got := r.ask(t, "PUT", "/v1/workflows/w"+query, inline); got.status >= 300 {
			t.Fatalf("%s: %d %s", query, got.status, got.body)
		}
		if got := <-asked; got != want {
			t.Errorf("%s: asked for %+v, want %+v", query, got, want)
		}
	}
}

// awaitTrue looks until cond holds.
func awaitTrue(t *testing.T, ctx context.Context, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not come true in time")
		}
	}
}

func TestBadStartsAreRefusedBeforeKafka(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return planner(q)
	})
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for _, test := range []struct {
		path, body string
		status     int
		code, at   string
	}{
		{"/v1/workflows/w", `{"definition":`, 400, "not_json", ""},
		{"/v1/workflows/w", `[]`, 400, "not_json", ""},
		{"/v1/workflows/w", inline + `{}`, 400, "not_json", ""},
		{"/v1/workflows/w", `{"input":1}`, 422, "missing_field", "definition"},
		{"/v1/workflows/w", `{"definition":7}`, 422, "invalid_field", "definition"},
		{"/v1/workflows/w", `{"definition":"d","inputs":1}`, 400, "unknown_field", "inputs"},
		{"/v1/workflows/w", `{"definition":"nobody"}`, 422, "unknown_definition", "definition"},
		{"/v1/workflows/w", `{"definition":{"name":"x","components":{"a":{"expr":"1 +"}}}}`, 422, "invalid_definition", "definition.components.a.expr"},
		{"/v1/workflows/w", `{"definition":{"name":"x","components":{"a":{"step":"t","queue":"nobody"}}}}`, 422, "unknown_queue", "components"},
		{"/v1/workflows/w", `{"definition":"d","policies":{}}`, 422, "invalid_field", "policies"},
		{"/v1/workflows/w", `{"definition":"d","input":` + deep + `}`, 400, "too_deep", ""},
		{"/v1/workflows/_w", inline, 422, "invalid_workflow_id", "id"},
		{"/v1/workflows/w%20w", inline, 422, "invalid_workflow_id", "id"},
		{"/v1/workflows/w?wait=soon", inline, 400, "invalid_parameter", "wait"},
		{"/v1/workflows/w?wait=2h", inline, 400, "invalid_parameter", "wait"},
		{"/v1/workflows/w?waits=1s", inline, 400, "unknown_parameter", "waits"},
		{"/v1/workflows/w?wait=1s&wait=2s", inline, 400, "invalid_parameter", "wait"},
		{"/v1/workflows/w", `{"definition":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too_large", ""},
	} {
		got := r.ask(t, "PUT", test.path, test.body)
		at := ""
		if list, ok := got.field("errors").([]any); ok && len(list) > 0 {
			at = list[0].(map[string]any)["path"].(string)
		}
		if got.status != test.status || got.code() != test.code || at != test.at {
			t.Errorf("%s %.60s: got %d %s at %q, want %d %s at %q: %s", test.path, test.body, got.status, got.code(), at, test.status, test.code, test.at, got.body)
		}
	}
	if asked != 0 {
		t.Errorf("planners were asked %d times", asked)
	}
}

func TestAMisspeltNameIsAnsweredWithTheRightOne(t *testing.T) {
	r := start(t, planner)
	for _, test := range []struct{ method, path, body, want string }{
		{"PUT", "/v1/workflows/w", `{"definition":"d","inputs":1}`, "inputs: there is no such field (did you mean input?)"},
		{"PUT", "/v1/workflows/w", `{"definition":"d","shoe_size":1}`, "shoe_size: there is no such field"},
		{"POST", "/v1/workflows/w/retry", `{"componen":"a"}`, "componen: there is no such field (did you mean component?)"},
		{"POST", "/v1/workflows/w/pause", `{"bye":"ann"}`, "bye: there is no such field (did you mean by?)"},
		{"PUT", "/v1/workflows/w?waits=1s", `{"definition":"d"}`, "waits: there is no such query parameter (did you mean wait?)"},
		{"GET", "/v1/workflows?statu=failed", "", "statu: there is no such query parameter (did you mean status?)"},
	} {
		if a := r.ask(t, test.method, test.path, test.body); a.status != 400 || a.field("detail") != test.want {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, a.status, a.body)
		}
	}
}

func TestControlCommandsCarryWhoAndWhy(t *testing.T) {
	var mu sync.Mutex
	got := map[string]json.RawMessage{}
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		got[q.Command.Name] = q.Record.Value
		return planner(q)
	})
	for name, extra := range map[string]string{
		"pause": "", "resume": "", "stop": `"drain":"1m","persist":false,`, "cancel": "", "retry": `"runnables":["r1"],`,
		"skip": `"runnable":"r1",`, "checkpoint": "",
	} {
		body := `{` + extra + `"by":"ann","why":"lunch"}`
		a := r.ask(t, "POST", "/v1/workflows/w/"+name, body)
		if a.status != 200 || a.field("result") != "done" || a.field("workflow.id") != "w" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if string(got[name]) != body {
			t.Errorf("%s: the planner got %s", name, got[name])
		}
	}
	if a := r.ask(t, "POST", "/v1/workflows/w/signals/approved", `{"key":"k","input":1,"by":"ann"}`); a.status != 200 ||
		string(got["signal"]) != `{"key":"k","input":1,"by":"ann","name":"approved"}` {
		t.Errorf("signal: %d %s; the planner got %s", a.status, a.body, got["signal"])
	}
	if a := r.ask(t, "POST", "/v1/workflows/w/inputs?wait=accepted", `{"input":null,"by":"ann"}`); a.status != 200 || a.field("workflow.status") != "running" {
		t.Errorf("input: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "DELETE", "/v1/workflows/w?force=true&by=ann&why=old", ""); a.status != 200 || string(got["delete"]) != `{"force":true,"by":"ann","why":"old"}` {
		t.Errorf("delete: %d %s; the planner got %s", a.status, a.body, got["delete"])
	}
	if a := r.ask(t, "POST", "/v1/workflows/missing/pause", ""); a.status != 404 || a.code() != "not_found" {
		t.Errorf("a workflow of nobody: %d %s", a.status, a.body)
	}
}

func TestCompletionGoesByTheToken(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	r := start(t, func(q requesttest.Request) []events.Reply {
		mu.Lock()
		defer mu.Unlock()
		got[q.Command.Name] = q.Command.Workflow + " " + string(q.Record.Value)
		return planner(q)
	})
	token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w/1", Runnable: 3, Attempt: 1}))
	for name, body := range map[string]string{
		"complete": `{"result":{"a":1}`, "fail": `{"error":{"type":"t","message":"m","retryable":false}`, "heartbeat": `{"details":1`,
	} {
		a := r.ask(t, "POST", "/v1/tasks/"+token+"/"+name, body+"}")
		if want := `w/1 ` + body + `,"token":"` + token + `"}`; a.status != 200 || got[name] != want {
			t.Errorf("%s: %d %s; the planner got %s, want %s", name, a.status, a.body, got[name], want)
		}
	}
	if a := r.ask(t, "POST", "/v1/tasks/nonsense/complete", "{}"); a.status != 422 || a.code() != "invalid_field" {
		t.Errorf("a token that is none: %d %s", a.status, a.body)
	}
	if a := r.ask(t, "POST", "/v1/tasks/"+token+"/complete", `{"token":"x"}`); a.status != 400 || a.code() != "unknown_field" {
		t.Errorf("a second token: %d %s", a.status, a.body)
	}
}

func TestKafkaThatIsAwayIsNotTheClientsFault(t *testing.T) {
	r := start(t, nil, func(c *gateway.Config) { c.Limits.Answer = time.Second })
	if a := r.ask(t, "GET", "/v1/workflows/w", ""); a.status != 503 || a.code() != "no_answer" || a.header.Get("Retry-After") == "" {
		t.Errorf("no planner: %d %s", a.status, a.body)
	}
	r = start(t, nil, func(c *gateway.Config) { c.Limits.Produce = 300 * time.Millisecond })
	if err := r.Broker.Close(); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "?wait=accepted", "?wait=30s"} {
		a := r.ask(t, "PUT", "/v1/workflows/w"+query, inline)
		if a.status != http.StatusServiceUnavailable || a.code() != "unavailable" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}
