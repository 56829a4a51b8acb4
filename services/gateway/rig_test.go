package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// rig is a gateway over an embedded broker, whose planners are a script.
type rig struct {
	*brokertest.Cluster
	gw  *gateway.Gateway
	url string
	ctx context.Context
}

// start runs a gateway; change alters its configuration.
func start(t testing.TB, script requesttest.Script, change ...func(*gateway.Config)) *rig {
	t.Helper()
	return startOver(t, 2, script, change...)
}

// startOver is start with so many partitions.
func startOver(t testing.TB, partitions int32, script requesttest.Script, change ...func(*gateway.Config)) *rig {
	t.Helper()
	r := &rig{Cluster: brokertest.Start(t, topics.Options{Partitions: partitions})}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	r.ctx = ctx
	if script != nil {
		requesttest.Start(t, r.Config, script)
	}
	cfg := gateway.Config{Kafka: r.Config}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if r.gw, err = gateway.Open(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(r.gw.Handler())
	r.url = srv.URL
	t.Cleanup(func() {
		if err := r.gw.Close(); err != nil {
			t.Errorf("close the gateway: %v", err)
		}
		srv.Close()
	})
	return r
}

// readiness publishes a readiness record. However slow the machine is, it is not too old to be shown.
func (r *rig) readiness(t *testing.T, key, value string) {
	t.Helper()
	rec := kafka.Keyed(r.Topics.Readiness(), []byte(key), []byte(value))
	rec.Timestamp = time.Now().Add(time.Hour)
	r.statuses(t, rec)
}

// reply is an answer of the gateway.
type reply struct {
	status int
	header http.Header
	body   string
}

// field reads a field of the JSON body by a path as workflow.status.
func (r reply) field(path string) any {
	var v any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		return fmt.Sprintf("no JSON: %s", r.body)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// code is the code of a problem.
func (r reply) code() string {
	typ, _ := r.field("type").(string)
	return strings.TrimPrefix(typ, gateway.ProblemPrefix)
}

// ask sends a request; headers are pairs.
func (r *rig) ask(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(bytes.TrimSpace(b))}
}

func summary(id, status string) string {
	return fmt.Sprintf(`{"id":%q,"run":"1.2","status":%q,"definition":{"name":"double","version":"1","digest":"sha256:0"},`+
		`"partition":1,"created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-01-02T03:04:05.000Z",`+
		`"counts":{"ready":0,"waiting":0,"active":0,"completed":1,"failed":0,"skipped":0,"suppressed":0,"cancelled":0},`+
		`"failure":null,"position":"1.4"}`, id, status)
}

const double = `{"name":"double","version":"1","components":{"a":{"expr":"input * 2"}}}`

// planner is a script of a planner that knows one workflow, w, and starts all.
func planner(q requesttest.Request) []events.Reply {
	if q.Query != nil {
		return queried(q.Query)
	}
	if q.Command.Workflow == "taken" && q.Command.Name == "start" {
		r := requesttest.Refuse("already_started", `the workflow "taken" exists and is idle`, "")
		r.Body = json.RawMessage(summary("taken", "idle"))
		return []events.Reply{r}
	}
	if q.Command.Workflow == "missing" {
		return []events.Reply{requesttest.Refuse("not_found", `there is no workflow "missing"`, "")}
	}
	list := []events.Reply{{Kind: events.ReplyDecided, Result: events.ResultDone, Body: json.RawMessage(summary(q.Command.Workflow, "running"))}}
	if q.Command.ReplyTo.Wait {
		body := fmt.Sprintf(`{"workflow":%s,"results":{"a":42}}`, summary(q.Command.Workflow, "idle"))
		list = append(list, events.Reply{Kind: events.ReplyDrained, Body: json.RawMessage(body)})
	}
	return list
}

func queried(q *events.Query) []events.Reply {
	if q.Workflow == "missing" {
		return []events.Reply{{Kind: events.ReplyAnswer, Result: events.ResultRefused,
			Refusal: &events.Refusal{Code: "not_found", Message: "there is no such workflow"}}}
	}
	bodies := map[string]string{
		"workflow":    summary(q.Workflow, "idle"),
		"results":     `{"status":"idle","results":{"a":42}}`,
		"productions": `{"productions":{"a":[42]}}`,
		"facts":       `{"items":[{"id":"f1","component":null,"value":21,"parents":[],"scope":"f1","depth":0,"time":"2026-01-02T03:04:05.000Z"}]}`,
		"runnables":   `{"items":[],"next_cursor":"7"}`,
		"key":         `{"name":"prices/acme","kind":"concurrency","limit":2,"held":1,"queued":0,"holders":[{"workflow":"w","runnable":"r1","since":"2026-01-02T03:04:05.000Z"}],"queue":[]}`,
		"graph":       `{"digest":"sha256:0","definition":` + double + `,"states":{"a":"completed"}}`,
	}
	if q.Kind == "results" && q.All {
		return []events.Reply{requesttest.Answer(`{"status":"idle","results":{"a":[42]}}`)}
	}
	return []events.Reply{requesttest.Answer(bodies[q.Kind])}
}
