package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// httpService runs the attempts of a queue by POST requests to a URL.
//
// Body: the task's value. Headers: Heddle-Task, Heddle-Workflow,
// Heddle-Component, Heddle-Token, Heddle-Attempt, Heddle-Deadline (RFC 3339, when
// there is one), Idempotency-Key, traceparent. The answer:
//
//	2xx               JSON is the result; an empty body is null
//	202               it completes later, by its token, through the API
//	404               with an error body of the type unknown_task: the service does
//	                  not have the task (yet); it is handed back like one that no
//	                  worker knows. Any other 404 is a failure
//	408, 425, 429,    failures that may be retried, after Retry-After if it is given
//	5xx
//	any other         failures that are not retried; redirects are not followed
//
// An error body {type, message, retryable, details} is taken over, each field
// where it is given. A connection that fails is retried by policy.
type httpService struct {
	url         string // with the placeholder
	client      *http.Client
	rules       hostRules
	concurrency int
	limit       int64 // bytes of a response's body
}

const taskPlaceholder = "{task}"

func newHTTPService(queue string, s Service, r HTTPRules) (*httpService, error) {
	h := &httpService{
		url:         s.URL,
		rules:       hostRules{loopback: s.AllowPrivate, private: s.AllowPrivate, networks: r.Networks},
		concurrency: s.Concurrency, limit: r.MaxResponse,
	}
	if h.concurrency == 0 {
		h.concurrency = defaultConcurrency
	}
	if h.concurrency < 0 {
		return nil, fmt.Errorf("executor: services.%s.concurrency is %d", queue, s.Concurrency)
	}
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("executor: services.%s.url: %w", queue, err)
	}
	h.client = newHTTPClient(h.rules, h.concurrency, false)
	return h, nil
}

// check refuses a URL that cannot be asked, or whose host a task would choose.
func (h *httpService) check() error {
	one, err := url.Parse(h.of("one"))
	if err != nil {
		return err
	}
	other, err := url.Parse(h.of("other"))
	if err != nil {
		return err
	}
	if one.Host != other.Host || one.Scheme != other.Scheme {
		return fmt.Errorf("%s belongs in the path or the query of %q", taskPlaceholder, h.url)
	}
	return h.rules.checkURL(one)
}

// of is the URL for a task.
func (h *httpService) of(task string) string {
	return strings.ReplaceAll(h.url, taskPlaceholder, url.PathEscape(task))
}

// Run implements worker.Handler.
func (h *httpService) Run(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.of(a.Spec.Task), bytes.NewReader(a.Spec.Input))
	if err != nil {
		return nil, refuse(events.ErrorInvalidInput, "%v", err)
	}
	setAttempt(req, a)
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, requestError(ctx, err)
	}
	defer resp.Body.Close()
	body, err := readBody(ctx, resp, h.limit)
	if err != nil {
		return nil, err
	}
	return judge(resp, body)
}

// setAttempt tells the service of the attempt.
func setAttempt(req *http.Request, a *worker.Attempt) {
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("Heddle-Task", a.Spec.Task)
	h.Set("Heddle-Workflow", a.Workflow)
	h.Set("Heddle-Component", a.Spec.Component)
	h.Set("Heddle-Token", a.Token())
	h.Set("Heddle-Attempt", strconv.FormatUint(uint64(a.Spec.Attempt), 10))
	h.Set("Idempotency-Key", a.Spec.IdempotencyKey)
	if end, ok := req.Context().Deadline(); ok {
		h.Set("Heddle-Deadline", end.UTC().Format(time.RFC3339Nano))
	}
	if a.Spec.TraceParent != "" {
		h.Set("Traceparent", a.Spec.TraceParent)
	}
}

// judge says what a response means for the attempt.
func judge(resp *http.Response, body []byte) (json.RawMessage, error) {
	switch {
	case resp.StatusCode == http.StatusAccepted:
		return nil, worker.ErrPending
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		body = bytes.TrimSpace(body)
		if len(body) > 0 && !json.Valid(body) {
			return nil, refuse(events.ErrorInvalidResult, "the service answered %s with a body that is not JSON", resp.Status)
		}
		return body, nil
	}
	given := errorBody{}
	if json.Unmarshal(body, &given) != nil {
		given = errorBody{} // not every server speaks of errors in JSON
	}
	if resp.StatusCode == http.StatusNotFound && given.Type == events.ErrorUnknownTask {
		return nil, fmt.Errorf("%w: the HTTP service does not know it", worker.ErrUnknownTask)
	}
	return nil, given.over(unexpected(resp, body))
}

// errorBody is how a service says more about a failure.
type errorBody struct {
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	Retryable *bool           `json:"retryable"`
	Details   json.RawMessage `json:"details"`
}

// over lays the service's words over what the status alone means.
func (b *errorBody) over(e *worker.TaskError) *worker.TaskError {
	if b.Type != "" {
		e.Type = b.Type
	}
	if b.Message != "" {
		e.Message = b.Message
	}
	if b.Retryable != nil {
		e.NonRetryable = !*b.Retryable
	}
	if len(b.Details) > 0 && string(b.Details) != "null" {
		e.Details = b.Details
	}
	return e
}
