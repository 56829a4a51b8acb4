package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
)

// ProblemPrefix is what the type of every problem begins with; the rest is its
// stable code.
const ProblemPrefix = "urn:heddle:problem:"

// Problem is an RFC 9457 problem document, and the error that becomes one.
type Problem struct {
	Type     string          `json:"type"`
	Title    string          `json:"title"`
	Status   int             `json:"status"`
	Detail   string          `json:"detail,omitempty"`
	Errors   []FieldError    `json:"errors"`
	Workflow json.RawMessage `json:"workflow,omitempty"` // the one that stands in the way
	ID       string          `json:"id,omitempty"`       // of the workflow that a failed start was for

	retryAfter int // seconds; 0: no hint
}

// FieldError is one field at fault.
type FieldError struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"` // of a definition's source, from 1
	Column  int    `json:"column,omitempty"`
}

func (p *Problem) Error() string { return p.code() + ": " + p.Detail }

func (p *Problem) code() string { return strings.TrimPrefix(p.Type, ProblemPrefix) }

// refuse makes a problem by its code; its status follows from the code.
func refuse(code, detail string) *Problem {
	status := statusOf(code)
	return &Problem{
		Type: ProblemPrefix + code, Title: strings.ReplaceAll(code, "_", " "), Status: status, Detail: detail,
		Errors: []FieldError{},
	}
}

// at adds the field at fault.
func (p *Problem) at(path, message string) *Problem {
	p.Errors = append(p.Errors, FieldError{Path: path, Message: message})
	return p
}

// refuseField is a problem about one field.
func refuseField(code, path, message string) *Problem {
	if path == "" {
		return refuse(code, message)
	}
	return refuse(code, path+": "+message).at(path, message)
}

// statuses of codes that do not follow the rule of statusOf.
var statuses = map[string]int{
	"not_found":            http.StatusNotFound,
	"no_such_route":        http.StatusNotFound,
	"no_archive":           http.StatusNotFound,
	"incomplete_archive":   http.StatusConflict,
	"ambiguous_run":        http.StatusConflict,
	"method_not_allowed":   http.StatusMethodNotAllowed,
	"not_json":             http.StatusBadRequest,
	"too_deep":             http.StatusBadRequest,
	"unknown_field":        http.StatusBadRequest,
	"unknown_parameter":    http.StatusBadRequest,
	"invalid_parameter":    http.StatusBadRequest,
	"unauthenticated":      http.StatusUnauthorized,
	"forbidden":            http.StatusForbidden,
	"host_not_allowed":     http.StatusForbidden,
	"cross_origin":         http.StatusForbidden,
	"gone":                 http.StatusGone,
	"too_large":            http.StatusRequestEntityTooLarge,
	"too_costly":           http.StatusUnprocessableEntity,
	"too_many_requests":    http.StatusTooManyRequests,
	"too_many_in_flight":   http.StatusTooManyRequests,
	"too_many_watchers":    http.StatusTooManyRequests,
	"too_many_tunnels":     http.StatusTooManyRequests,
	"headers_too_large":    http.StatusRequestHeaderFieldsTooLarge,
	"uri_too_long":         http.StatusRequestURITooLong,
	"not_at_runner":        http.StatusConflict,
	"tunnel_aborted":       http.StatusBadGateway,
	"attempt_ended":        http.StatusBadGateway,
	"tunnel_timeout":       http.StatusGatewayTimeout,
	"unavailable":          http.StatusServiceUnavailable,
	"no_answer":            http.StatusServiceUnavailable,
	"open_transaction":     http.StatusServiceUnavailable, // a query behind another producer's transaction
	"internal":             http.StatusInternalServerError,
	"internal_error":       http.StatusInternalServerError, // a query that met a defect
	"quarantined":          http.StatusInternalServerError, // a command that met a defect
	"missing_context":      http.StatusUnprocessableEntity,
	"missing_field":        http.StatusUnprocessableEntity,
	"unknown_definition":   http.StatusUnprocessableEntity,
	"unknown_queue":        http.StatusUnprocessableEntity,
	"too_many_definitions": http.StatusUnprocessableEntity,
	"invalid_state":        http.StatusConflict,
}

// statusOf: what is wrong with the content is 422, what is wrong with the state
// of what it is about is 409.
func statusOf(code string) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	if strings.HasPrefix(code, "invalid_") {
		return http.StatusUnprocessableEntity
	}
	return http.StatusConflict
}

// refused turns a planner's refusal into a problem. Its body, when it has one,
// is the workflow as it is.
func refused(r events.Reply) *Problem {
	p := refuseField(r.Refusal.Code, r.Refusal.Path, r.Refusal.Message)
	if r.Kind == events.ReplyDecided && len(r.Body) > 0 {
		p.Workflow = r.Body
	}
	if p.Status == http.StatusServiceUnavailable {
		p = retry(p, 2)
	}
	return p
}

// problemOf is what any handler's error is to a client. Faults of ours are told
// without their details.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if r, ok := errors.AsType[*request.RefusedError](err); ok {
		return refused(r.Reply)
	}
	switch {
	case errors.Is(err, request.ErrBusy):
		return retry(refuse("too_many_in_flight", err.Error()), 1)
	case errors.Is(err, request.ErrUnavailable), errors.Is(err, request.ErrClosed):
		return retry(refuse("unavailable", "Kafka did not acknowledge the request in time. Repeat it under the same Idempotency-Key."), 2)
	case errors.Is(err, history.ErrGone):
		return refuse("gone", "the journal does not hold this part of the history any more")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, request.ErrRepliesLost):
		return retry(refuse("no_answer", "the planner that owns the workflow did not answer in time; /v1/readiness says which partitions have none"), 2)
	}
	return refuse("internal", "the gateway failed; its log says why")
}

func retry(p *Problem, seconds int) *Problem {
	p.retryAfter = seconds
	return p
}

func (p *Problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that hung up does not need it
}
