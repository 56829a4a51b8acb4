package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

func newService(t *testing.T, url string) *httpService {
	t.Helper()
	h, err := newHTTPService("orders", Service{URL: url, AllowPrivate: true}, HTTPRules{MaxResponse: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.client.CloseIdleConnections)
	return h
}

func TestAServiceIsToldOfTheAttempt(t *testing.T) {
	var got http.Header
	var path, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, path = r.Header, r.Method+" "+r.URL.EscapedPath()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(b)
	}))
	defer server.Close()
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	a := attempt("orders.price/eu", `{"item": "mug"}`)
	if _, err := newService(t, server.URL+"/tasks/{task}").Run(ctx, a); err != nil {
		t.Fatal(err)
	}
	if path != "POST /tasks/orders.price%2Feu" || body != `{"item": "mug"}` {
		t.Errorf("got %s %s", path, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Heddle-Task": "orders.price/eu", "Heddle-Workflow": "w-1",
		"Heddle-Component": "call", "Heddle-Token": a.Token(), "Heddle-Attempt": "2", "Idempotency-Key": "w-1/r3",
		"Heddle-Deadline": end.UTC().Format(time.RFC3339Nano), "Traceparent": a.Spec.TraceParent,
	} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestEachAnswerOfAServiceHasItsMeaning(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		header  string // Retry-After
		body    string
		result  string
		err     error            // ErrPending, ErrUnknownTask
		failure events.TaskError // Message: a part of it
	}{
		{name: "result", status: 200, body: ` {"cents": 1.50} `, result: `{"cents": 1.50}`},
		{name: "created", status: 201, body: `7`, result: `7`},
		{name: "empty", status: 200, result: ``},
		{name: "no content", status: 204, result: ``},
		{name: "later", status: 202, body: `{"ignored": true}`, err: worker.ErrPending},
		{name: "no JSON", status: 200, body: `<html>`, failure: events.TaskError{Type: "invalid_result", NonRetryable: true, Message: "not JSON"}},
		{name: "too large", status: 200, body: strings.Repeat("1", 1<<10+1), failure: events.TaskError{Type: "result_too_large", NonRetryable: true, Message: "1024"}},
		{name: "redirect", status: 302, failure: events.TaskError{Type: "http_status", NonRetryable: true, Message: "302"}},
		{name: "bad request", status: 400, body: `nope`, failure: events.TaskError{Type: "http_status", NonRetryable: true, Message: "400 Bad Request"}},
		{name: "not found", status: 404, body: `{"type": "no_such_order"}`, failure: events.TaskError{Type: "no_such_order", NonRetryable: true, Message: "404"}},
		{name: "unknown task", status: 404, body: `{"type": "unknown_task"}`, err: worker.ErrUnknownTask},
		{name: "busy", status: 429, header: "7", failure: events.TaskError{Type: "http_status", RetryAfterMs: 7000, Message: "429"}},
		{name: "away", status: 503, header: "1", body: `{"type": "closed", "message": "come back"}`,
			failure: events.TaskError{Type: "closed", RetryAfterMs: 1000, Message: "come back"}},
		{name: "broken", status: 500, body: `{"retryable": false}`, failure: events.TaskError{Type: "http_status", NonRetryable: true, Message: "500"}},
		{name: "conflict to retry", status: 409, body: `{"type": "locked", "retryable": true, "details": {"by": "x"}}`,
			failure: events.TaskError{Type: "locked", Message: "409", Details: json.RawMessage(`{"by": "x"}`)}},
		{name: "error of another shape", status: 400, body: `{"type": 5}`, failure: events.TaskError{Type: "http_status", NonRetryable: true, Message: "400"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				if c.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer server.Close()
			result, err := newService(t, server.URL).Run(t.Context(), attempt("orders.price", `1`))
			if c.err != nil {
				if !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
				return
			}
			if c.failure.Type == "" {
				if err != nil || string(result) != c.result {
					t.Errorf("got %s, %v; want %s", result, err, c.result)
				}
				return
			}
			f, ok := errors.AsType[worker.Failure](err)
			if !ok {
				t.Fatalf("got %s, %v; want a failure", result, err)
			}
			got := f.TaskError()
			if got.Type != c.failure.Type || got.NonRetryable != c.failure.NonRetryable || got.RetryAfterMs != c.failure.RetryAfterMs ||
				!strings.Contains(got.Message, c.failure.Message) || c.failure.Details != nil && string(got.Details) != string(c.failure.Details) {
				t.Errorf("got %+v, want %+v", got, c.failure)
			}
		})
	}
}

func TestAWrongServiceIsRefusedAtStart(t *testing.T) {
	for url, s := range map[string]Service{
		"no URL":             {},
		"no scheme":          {URL: "localhost:9000/{task}"},
		"task in the host":   {URL: "http://{task}.internal/"},
		"task as the scheme": {URL: "{task}://internal/"},
		"concurrency":        {URL: "http://internal/", Concurrency: -1},
	} {
		if _, err := newHTTPService("orders", s, HTTPRules{}); err == nil {
			t.Errorf("%s: no error", url)
		} else if !strings.Contains(err.Error(), "services.orders") {
			t.Errorf("%s: %v does not name the setting", url, err)
		}
	}
}

func TestAServiceOnThisMachineMustBeAllowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer server.Close()
	h, err := newHTTPService("orders", Service{URL: server.URL}, HTTPRules{MaxResponse: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), attempt("orders.price", `1`)); failureType(err) != "address_forbidden" {
		t.Errorf("got %v, want address_forbidden", err)
	}
}
