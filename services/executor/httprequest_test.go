package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// attempt is an attempt as a worker gives it to a handler.
func attempt(task string, input string) *worker.Attempt {
	return &worker.Attempt{Workflow: "w-1", Queue: "default", Spec: events.Task{
		Token: []byte("a sealed token of some length"), Task: task, Component: "call", Attempt: 2, Input: json.RawMessage(input),
		IdempotencyKey: "w-1/r3", TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}}
}

// local are rules of `heddle dev`.
var local = HTTPRules{AllowLoopback: true, MaxResponse: 1 << 10}

func newRequest(t *testing.T, r HTTPRules) *httpRequest {
	t.Helper()
	h, err := newHTTPRequest(r, defaultSlots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.client.CloseIdleConnections)
	return h
}

func TestRequestSendsWhatTheStepSays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s %s %s|%s|%s|%s|%s", r.Method, r.URL.Path, body, r.Header.Get("Content-Type"),
			r.Header.Get("Idempotency-Key"), r.Header.Get("Traceparent")[:2], r.Header.Get("X-Own"))
	}))
	defer server.Close()
	h := newRequest(t, local)
	for input, want := range map[string]string{
		`"url": "URL/a"`:                                  "GET /a ||" + "|00|",
		`"url": "URL/b", "body": {"n": 1.50}`:             `POST /b {"n": 1.50}|application/json|w-1/r3|00|`,
		`"url": "URL/c", "method": "put", "body": "text"`: "PUT /c text|text/plain; charset=utf-8|w-1/r3|00|",
		`"url": "URL/d", "method": "DELETE"`:              "DELETE /d ||w-1/r3|00|",
		`"url": "URL/e", "body": [1], "headers": {"X-Own": "x", "Idempotency-Key": "own"}`: "POST /e [1]|application/json|own|00|x",
		`"url": "URL/f", "body": null`: "GET /f |||00|",
	} {
		result, err := h.Run(t.Context(), attempt("http.request", "{"+strings.ReplaceAll(input, "URL", server.URL)+"}"))
		if err != nil {
			t.Errorf("%s: %v", input, err)
			continue
		}
		var got response
		if err := json.Unmarshal(result, &got); err != nil {
			t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(got.Body, &text); err != nil || text != want {
			t.Errorf("%s\n got %s\nwant %q", input, got.Body, want)
		}
	}
}

func TestResponsesBecomeResults(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
			io.WriteString(w, `{"total": 1.50}`)
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, `hello "you"`)
		case "/binary":
			w.Header().Set("Content-Type", "image/png")
			w.Write([]byte{0xff, 0xd8, 0})
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/lies":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"total":`)
		case "/large":
			io.WriteString(w, strings.Repeat("x", 1<<10+1))
		case "/teapot":
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	h := newRequest(t, local)
	for _, c := range []struct{ path, more, body, fails string }{
		{"/json", "", `{"total":1.50}`, ""},
		{"/text", "", `"hello \"you\""`, ""},
		{"/binary", "", `null`, ""},
		{"/empty", "", `null`, ""},
		{"/teapot", `, "expect": [418]`, `null`, ""},
		{"/teapot", `, "expect": ["2xx", "4xx"]`, `null`, ""},
		{"/teapot", ``, "", "http_status"},
		{"/text", `, "expect": [201]`, "", "http_status"},
		{"/lies", "", "", "invalid_result"},
		{"/large", "", "", "result_too_large"},
		{"/json", `, "map": "input.body.nothing"`, "", "expression_error"},
		{"/json", `, "map": "input.body."`, "", "invalid_input"},
		{"/json", `, "timeout": "tomorrow"`, "", "invalid_input"},
		{"/json", `, "timeout_ms": -5`, "", "invalid_input"},
		{"/json", `, "headers": {"Host": "other"}`, "", "invalid_input"},
		{"/json", `, "method": "NO SUCH"`, "", "invalid_input"},
	} {
		result, err := h.Run(t.Context(), attempt("http.request", fmt.Sprintf(`{"url": %q%s}`, server.URL+c.path, c.more)))
		if typ := failureType(err); typ != c.fails {
			t.Errorf("%s%s: failed with %q (%v), want %q", c.path, c.more, typ, err, c.fails)
			continue
		}
		var got response
		if err == nil {
			if err := json.Unmarshal(result, &got); err != nil || string(got.Body) != c.body {
				t.Errorf("%s: body %s, want %s", c.path, got.Body, c.body)
			}
		}
		if c.path == "/binary" && got.Base64 != "/9gA" {
			t.Errorf("bytes came as %q", got.Base64)
		}
	}
	mapped, err := h.Run(t.Context(), attempt("http.request",
		fmt.Sprintf(`{"url": %q, "map": "{sum: input.body.total * 2, status: input.status, kind: input.headers['content-type']}"}`, server.URL+"/json")))
	if want := `{"kind":"application/problem+json; charset=utf-8","status":200,"sum":3}`; err != nil || string(mapped) != want {
		t.Errorf("mapped to %s, %v; want %s", mapped, err, want)
	}
}

// failureType is the type of a task's failure, or "".
func failureType(err error) string {
	if f, ok := errors.AsType[worker.Failure](err); ok {
		return f.TaskError().Type
	}
	if err != nil {
		return "no failure: " + err.Error()
	}
	return ""
}

func TestRequestsGoOnlyWhereTheyMay(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a forbidden request arrived") }))
	defer inner.Close()
	_, port, err := net.SplitHostPort(inner.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://forbidden.example/", http.StatusFound)
	}))
	defer redirecting.Close()
	for _, c := range []struct {
		name, url string
		rules     HTTPRules
	}{
		{"loopback by address", inner.URL, HTTPRules{MaxResponse: 1}},
		{"loopback by name, checked when it is dialled", "http://localhost:" + port, HTTPRules{MaxResponse: 1}},
		{"unspecified address", "http://0.0.0.0:" + port, local},
		{"host that is not listed", inner.URL, HTTPRules{AllowLoopback: true, Hosts: []string{"example.com"}}},
		{"redirect to a host that is not listed", redirecting.URL, HTTPRules{AllowLoopback: true, Hosts: []string{"127.0.0.1"}}},
		{"other scheme", "file:///etc/passwd", local},
	} {
		_, err := newRequest(t, c.rules).Run(t.Context(), attempt("http.request", fmt.Sprintf(`{"url": %q}`, c.url)))
		f, ok := errors.AsType[worker.Failure](err)
		if !ok || f.TaskError().Type != "address_forbidden" || !f.TaskError().NonRetryable {
			t.Errorf("%s: %v, want address_forbidden for good", c.name, err)
		}
	}
}

func TestARequestEndsWithItsContextOrItsTime(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	h := newRequest(t, local)
	input := fmt.Sprintf(`{"url": %q, "timeout_ms": 20}`, server.URL)
	if _, err := h.Run(t.Context(), attempt("http.request", input)); failureType(err) != "request_failed" {
		t.Errorf("after the request's own time: %v, want request_failed", err)
	}
	ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(20*time.Millisecond), worker.ErrTimeout)
	defer cancel()
	_, err := h.Run(ctx, attempt("http.request", fmt.Sprintf(`{"url": %q}`, server.URL)))
	if !errors.Is(err, worker.ErrTimeout) {
		t.Errorf("after the attempt's time: %v, want its cause", err)
	}
}

func TestARefusedConnectionMayBeRetried(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = newRequest(t, local).Run(t.Context(), attempt("http.request", fmt.Sprintf(`{"url": "http://%s"}`, l.Addr())))
	f, ok := errors.AsType[worker.Failure](err)
	if !ok || f.TaskError().Type != "request_failed" || f.TaskError().NonRetryable {
		t.Errorf("got %v, want request_failed, retryable", err)
	}
}

func TestStatusesThatMayBeRetried(t *testing.T) {
	for status, want := range map[int]bool{
		301: false, 400: false, 401: false, 404: false, 408: true, 409: false, 422: false, 425: true, 429: true,
		500: true, 501: true, 502: true, 503: true, 504: true,
	} {
		if retryable(status) != want {
			t.Errorf("%d retryable: %v, want %v", status, !want, want)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 9, 18, 12, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999": maxRetryAfter,
		"Fri, 18 Sep 2026 12:01:00 GMT": time.Minute, "Fri, 18 Sep 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}
