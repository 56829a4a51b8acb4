package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// httpRequest is the task http.request.
type httpRequest struct {
	client *http.Client
	rules  hostRules
	limit  int64 // bytes of a response's body
	maps   programs

	receivers *receivers // of completion notices
}

// requestTimeout holds where the step gives no timeout: a server that never
// answers must not hold a slot for ever.
const requestTimeout = time.Minute

func newHTTPRequest(r HTTPRules, slots int) (*httpRequest, error) {
	rules, err := newHostRules(r)
	if err != nil {
		return nil, err
	}
	return &httpRequest{client: newHTTPClient(rules, defaultSlots, true), rules: rules, limit: r.MaxResponse, receivers: newReceivers(slots)}, nil
}

// requestParams is the input of http.request.
type requestParams struct {
	Method    string            `json:"method"` // GET, or POST where there is a body
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	Body      json.RawMessage   `json:"body"`   // a string is sent as it is, anything else as JSON
	Expect    []any             `json:"expect"` // statuses that are no failure: 200, "2xx"; all of 2xx
	Map       string            `json:"map"`    // expression over input = {status, headers, body}
	Timeout   string            `json:"timeout"`
	TimeoutMs int64             `json:"timeout_ms"`
}

// Run implements worker.Handler. The result is {status, headers, body}, or what
// map makes of it.
func (h *httpRequest) Run(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	var p requestParams
	if err := parameters(a, &p); err != nil {
		return nil, err
	}
	program, err := h.program(p.Map)
	if err != nil {
		return nil, err
	}
	limit, err := p.timeout()
	if err != nil {
		return nil, refuse(events.ErrorInvalidInput, "timeout: %v", err)
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := h.request(timed, a, &p)
	if err != nil {
		return nil, err
	}
	if _, _, err := events.ParseNotices(a.Workflow); err == nil {
		leave, err := h.receivers.enter(timed, req.URL.Host)
		if err != nil {
			return nil, err
		}
		defer func() { leave(timed.Err() == nil) }()
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, requestError(ctx, err)
	}
	defer resp.Body.Close()
	body, err := readBody(ctx, resp, h.limit)
	if err != nil {
		return nil, err
	}
	if !expected(p.Expect, resp.StatusCode) {
		return nil, unexpected(resp, body)
	}
	return answer(a, resp, body, program)
}

func (p *requestParams) timeout() (time.Duration, error) {
	return timeoutOf(p.Timeout, p.TimeoutMs, requestTimeout)
}

// timeoutOf is a time limit of a step's parameters; usual where they give none.
func timeoutOf(text string, ms int64, usual time.Duration) (time.Duration, error) {
	var given any = ms
	if text != "" {
		given = text
	}
	d, err := policy.DurationOf(given, text == "")
	switch {
	case err != nil:
		return 0, err
	case d < 0:
		return 0, fmt.Errorf("%v is negative", d)
	case d == 0:
		return usual, nil
	}
	return d, nil
}

func (h *httpRequest) program(source string) (*expr.Program, error) {
	if source == "" {
		return nil, nil
	}
	program, err := h.maps.compile(source)
	if err != nil {
		return nil, refuse(events.ErrorInvalidInput, "map: %v", err)
	}
	return program, nil
}

// request builds the request. Its idempotency key and trace context are the
// attempt's, where the step gives none.
func (h *httpRequest) request(ctx context.Context, a *worker.Attempt, p *requestParams) (*http.Request, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, refuse(events.ErrorInvalidInput, "url: %v", err)
	}
	if err := h.rules.checkURL(u); err != nil {
		return nil, refuse(events.ErrorAddressForbidden, "%v", err)
	}
	content, kind := p.content()
	req, err := http.NewRequestWithContext(ctx, p.method(), u.String(), bytes.NewReader(content))
	if err != nil {
		return nil, refuse(events.ErrorInvalidInput, "%v", err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if a.Spec.TraceParent != "" {
		req.Header.Set("Traceparent", a.Spec.TraceParent)
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		req.Header.Set("Idempotency-Key", a.Spec.IdempotencyKey)
	}
	for name, value := range p.Headers {
		req.Header.Set(name, value)
	}
	if host := req.Header.Get("Host"); host != "" {
		return nil, refuse(events.ErrorInvalidInput, "headers: Host is the URL's")
	}
	return req, nil
}

func (p *requestParams) method() string {
	switch {
	case p.Method != "":
		return strings.ToUpper(p.Method)
	case p.hasBody():
		return http.MethodPost
	}
	return http.MethodGet
}

func (p *requestParams) hasBody() bool { return len(p.Body) > 0 && string(p.Body) != "null" }

func (p *requestParams) content() (content []byte, kind string) {
	var text string
	switch {
	case !p.hasBody():
		return nil, ""
	case json.Unmarshal(p.Body, &text) == nil:
		return []byte(text), "text/plain; charset=utf-8"
	}
	return p.Body, "application/json"
}

// expected reports whether a status is one of those wanted.
func expected(want []any, status int) bool {
	if len(want) == 0 {
		return status >= 200 && status < 300
	}
	return slices.ContainsFunc(want, func(w any) bool {
		switch w := w.(type) {
		case float64:
			return w == float64(status)
		case string:
			return w == strconv.Itoa(status) || w == fmt.Sprintf("%dxx", status/100)
		}
		return false
	})
}
