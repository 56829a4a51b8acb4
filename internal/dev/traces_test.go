package dev_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/tracing"
	"github.com/heddle-run/heddle/sdk/worker"
)

// collecting is an OpenTelemetry collector that keeps what it gets.
type collecting struct {
	mu    sync.Mutex
	spans []told
}

// told is a span and the service that told of it.
type told struct {
	*tracepb.Span
	service string
}

func (c *collecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &req)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		service := ""
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				c.spans = append(c.spans, told{s, service})
			}
		}
	}
}

// of is the one span of a name, or the nth of them by their begin.
func (c *collecting) of(t *testing.T, name string, n, all int) told {
	t.Helper()
	var found []told
	for _, s := range c.spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	if len(found) != all {
		t.Fatalf("%d spans %q, want %d:\n%s", len(found), name, all, c)
	}
	slices.SortFunc(found, func(a, b told) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
	return found[n]
}

func (c *collecting) String() string {
	var b strings.Builder
	for _, s := range c.spans {
		fmt.Fprintf(&b, "%s: %s %x under %x, %s\n", s.service, s.GetName(), s.GetSpanId(), s.GetParentSpanId(), s.GetStatus())
	}
	return b.String()
}

const traced = `{"name": "traced", "components": {
	"fetch": {"step": "test.fail", "params": {"n": 1}, "policy": {"max_retries": 1}},
	"pay": {"step": "shop.pay", "after": "fetch", "policy": {"max_retries": 1}}},
	"options": {"close": "on_idle"}}`

// One trace goes from an HTTP request through every attempt and retry, to an executor and a worker of
// the SDK, and each part of it is told once, though the planner is stopped in the middle.
func TestOneTraceGoesThroughEveryAttempt(t *testing.T) {
	c := &collecting{}
	srv := httptest.NewServer(c)
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)

	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 1, Memory: true})
	cl := connect(t, d)
	if _, err := cl.Define(ctx, "traced", []byte(traced)); err != nil {
		t.Fatal(err)
	}
	begin(t, ctx, d, "w", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	begin(t, ctx, d, "unsampled", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	begin(t, ctx, d, "untraced", "")
	if _, err := d.RestartPlanner(ctx, true); err != nil { // attempts of shop.pay are open
		t.Fatal(err)
	}
	run, end := payingWorker(t, ctx, d)
	for _, id := range []string{"w", "unsampled", "untraced"} {
		if w, err := cl.Run(id).Wait(ctx); err != nil || w.Status != "completed" {
			t.Fatalf("%s: %+v, %v", id, w, err)
		}
	}
	run()
	if err := end(ctx); err != nil {
		t.Fatal(err)
	}
	stop(t, d)

	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[string]bool{}
	for _, s := range c.spans {
		if fmt.Sprintf("%x", s.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s is of the trace %x", s.GetName(), s.GetTraceId())
		}
		if id := string(s.GetSpanId()); seen[id] {
			t.Errorf("%s is told twice", s.GetName())
		} else {
			seen[id] = true
		}
	}
	began := c.of(t, "start traced", 0, 1)
	if fmt.Sprintf("%x", began.GetParentSpanId()) != "b7ad6b7169203331" {
		t.Errorf("the start is a child of %x, not of the request", began.GetParentSpanId())
	}
	under := func(child, parent told) {
		t.Helper()
		if !bytes.Equal(child.GetParentSpanId(), parent.GetSpanId()) {
			t.Errorf("%s is not a child of %s:\n%s", child.GetName(), parent.GetName(), c)
		}
	}
	under(c.of(t, "workflow traced", 0, 2), began) // it was idle, and completed
	for _, of := range []struct{ task, service string }{{"test.fail", "heddle-executor"}, {"shop.pay", "shop"}} {
		for n := range 2 {
			attempt, run := c.of(t, "attempt "+of.task, n, 2), c.of(t, of.task, n, 2)
			under(attempt, began)
			under(run, attempt)
			if attempt.service != "heddle-planner" || run.service != of.service {
				t.Errorf("%s is told by %s and %s", of.task, attempt.service, run.service)
			}
			failed := tracepb.Status_STATUS_CODE_ERROR
			if (attempt.GetStatus().GetCode() == failed) != (n == 0) || (run.GetStatus().GetCode() == failed) != (n == 0) {
				t.Errorf("attempt %d of %s: %s and %s", n+1, of.task, attempt.GetStatus(), run.GetStatus())
			}
		}
	}
}

// begin starts a workflow over HTTP with a traceparent.
func begin(t *testing.T, ctx context.Context, d *dev.Dev, id, trace string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, d.URL+"/v1/workflows/"+id+"?wait=accepted", strings.NewReader(`{"definition":"traced","input":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if trace != "" {
		req.Header.Set("Traceparent", trace)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
}

// payingWorker serves shop.pay, which fails at first, until stop is called; end sends its spans.
func payingWorker(t *testing.T, ctx context.Context, d *dev.Dev) (stop func(), end func(context.Context) error) {
	t.Helper()
	provider, end, err := tracing.FromEnv(ctx, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Options{Brokers: d.Brokers, TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	pay := task.Define[map[string]any, string]("shop.pay")
	worker.Handle(w, pay, func(ctx context.Context, _ map[string]any) (string, error) {
		if task.Number(ctx) == 1 {
			return "", errors.New("not yet")
		}
		return "paid", nil
	})
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("the worker: %v", err)
		}
	}, end
}

// Without a collector's address in the environment nothing is made.
func TestWithoutACollectorNobodyIsTold(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing":  {},
		"disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"none":     {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			provider, end, err := tracing.FromEnv(t.Context(), "shop", nil)
			if provider != nil || err != nil {
				t.Fatalf("%v, %v", provider, err)
			}
			if err := end(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for _, env := range [][2]string{{"OTEL_TRACES_EXPORTER", "zipkin"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}} {
		t.Run(env[1], func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(env[0], env[1])
			if _, _, err := tracing.FromEnv(t.Context(), "shop", nil); err == nil || !strings.Contains(err.Error(), env[0]) {
				t.Errorf("%s=%s: %v", env[0], env[1], err)
			}
		})
	}
}
