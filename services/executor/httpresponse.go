package executor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

// response is the result of http.request, before it is mapped.
type response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`               // names in lower case
	Body    json.RawMessage   `json:"body"`                  // JSON as it came; text as a string; null
	Base64  string            `json:"body_base64,omitempty"` // what is neither JSON nor text
}

// answer makes the result of an expected response.
func answer(a *worker.Attempt, resp *http.Response, body []byte, program *expr.Program) (json.RawMessage, error) {
	r := response{Status: resp.StatusCode, Headers: map[string]string{}}
	for name, values := range resp.Header {
		r.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if err := r.setBody(resp.Header, body); err != nil {
		return nil, err
	}
	result, err := json.Marshal(r)
	if err != nil {
		return nil, refuse(events.ErrorInvalidResult, "%v", err)
	}
	if program == nil {
		return result, nil
	}
	mapped, err := program.Eval(expr.Env{Input: result, Context: a.Spec.Context, WorkflowID: a.Workflow, Now: time.Now()})
	if err != nil {
		return nil, refuse(events.ErrorExpression, "map: %v", err)
	}
	return mapped, nil
}

// setBody passes JSON on as it came. A response that says it is JSON and is not
// fails: later steps would stumble over it.
func (r *response) setBody(h http.Header, body []byte) error {
	r.Body = json.RawMessage("null")
	switch {
	case len(body) == 0:
	case isJSON(h):
		if !json.Valid(body) {
			return refuse(events.ErrorInvalidResult, "the response says it is JSON but is not valid")
		}
		r.Body = body
	case utf8.Valid(body):
		text, err := json.Marshal(string(body))
		if err != nil {
			return refuse(events.ErrorInvalidResult, "%v", err)
		}
		r.Body = text
	default:
		r.Base64 = base64.StdEncoding.EncodeToString(body)
	}
	return nil
}

func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// maxQuoted bounds what of an unexpected response is kept with the failure.
const maxQuoted = 4 << 10

// unexpected is the failure of a response whose status is not expected.
func unexpected(resp *http.Response, body []byte) *worker.TaskError {
	quoted := strings.ToValidUTF8(string(body[:min(len(body), maxQuoted)]), "�")
	details, err := json.Marshal(map[string]any{"status": resp.StatusCode, "body": quoted})
	if err != nil {
		details = nil
	}
	return &worker.TaskError{
		Type:         events.ErrorHTTPStatus,
		Message:      fmt.Sprintf("%s %s answered %s", resp.Request.Method, resp.Request.URL.Redacted(), resp.Status),
		NonRetryable: !retryable(resp.StatusCode),
		RetryAfterMs: retryAfter(resp.Header, time.Now()).Milliseconds(),
		Details:      details,
	}
}
