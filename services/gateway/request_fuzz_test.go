package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// Every request is answered: with success or with a problem that says what is
// wrong with it, never with an error of ours. headers are lines NAME: VALUE.
func FuzzRequest(f *testing.F) {
	token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w", Attempt: 1}))
	for _, s := range [][4]string{
		{"POST", "/v1/workflows?wait=accepted", "Idempotency-Key: k", `{"definition":{"name":"double","components":{"a":{"expr":"input * 2"}}},"input":21}`},
		{"PUT", "/v1/workflows/a%2Fb?wait=1ms", "", `{"definition":"nobody@1","input":{"a":[1]}}`},
		{"PUT", "/v1/definitions/double", "Content-Type: application/yaml", "name: double\ncomponents: {a: {expr: input * 2}}"},
		{"POST", "/v1/workflows/w/inputs?wait=1s", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", `{"input":1,"mode":"merge"}`},
		{"DELETE", "/v1/workflows/w?force=true&by=me&why=so", "", ""},
		{"POST", "/v1/workflows/w/retry", "", `{"runnables":["r1"],"input":null}`},
		{"POST", "/v1/workflows/w/stop", "", `{"drain":"5s"}`},
		{"POST", "/v1/tasks/" + token + "/complete", "", `{"result":{"a":1}}`},
		{"POST", "/v1/tasks/" + token + "/fail", "", `{"error":{"message":"m","details":[1]}}`},
		{"POST", "/v1/tasks/" + token + "/heartbeat", "", ``},
		{"GET", "/v1/workflows?status=idle&definition=a@1&label.x=y&created_after=2026-01-02T03:04:05Z&limit=1&cursor=AAAA", "", ""},
		{"GET", "/v1/workflows/w?wait=1ms", "If-None-Match: \"x\"", ""},
		{"GET", "/v1/workflows/w/facts?cursor=7&limit=2", "", ""},
		{"GET", "/v1/workflows/w/graph?format=mermaid", "Accept: text/html;q=0.1", ""},
		{"GET", "/v1/workflows/missing/history?cursor=1-1.2-0", "", ""},
		{"GET", "/v1/workflows/missing/events", "Last-Event-ID: 1-1.2-0", ""},
		{"GET", "/v1/definitions/double@1/graph", "", ""},
		{"GET", "/v1/readiness/0", "", ""},
		{"GET", "/v1/workflows/%FF/results?all=maybe", "", ""},
		{"OPTIONS", "/", "Host: evil.example", ""},
		{"POST", "/v1/workflows", "", strings.Repeat("[", 200)},
		{"POST", "/v1/workflows?wait=%zz", "Authorization: Bearer x", `{"definition":"x","definition":{}}`},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	r := start(f, planner, func(c *gateway.Config) { c.Limits.Wait, c.Limits.Answer = time.Second, 30*time.Second })
	f.Fuzz(func(t *testing.T, method, target, headers, body string) {
		req, ok := requestOf(method, target, headers, body)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := httptest.NewRecorder()
		r.gw.Handler().ServeHTTP(w, req.WithContext(ctx))
		unpublished := strings.HasPrefix(req.URL.Path, "/v1/readiness") // nobody does, here
		impatient := req.URL.Query().Get("wait") != ""
		unavailable := w.Code == http.StatusServiceUnavailable && (unpublished || impatient)
		switch {
		case w.Code < 400 || unavailable:
		case w.Code >= 500:
			t.Errorf("%s %s: %d %s", method, target, w.Code, w.Body)
		default:
			var p gateway.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/problem+json" || p.Status != w.Code || p.Detail == "" {
				t.Errorf("%s %s: %d is no problem: %s, %v", method, target, w.Code, w.Body, err)
			}
		}
	})
}

// requestOf is the request that a server would make of it; false: of none.
func requestOf(method, target, headers, body string) (*http.Request, bool) {
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" || u.Opaque != "" {
		return nil, false
	}
	req, err := http.NewRequest(method, "http://127.0.0.1"+target, io.NopCloser(strings.NewReader(body)))
	if err != nil {
		return nil, false
	}
	req.RequestURI, req.RemoteAddr = target, "127.0.0.1:1"
	for line := range strings.SplitSeq(headers, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			req.Header.Set(name, value)
			if http.CanonicalHeaderKey(name) == "Host" {
				req.Host = value
			}
		}
	}
	return req, true
}
