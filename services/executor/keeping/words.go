package keeping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// queryOf is what a request asks the owner of the attempt; nil: it is no question.
func queryOf(workflow string, q *frames.ToServerKvRequest) *events.Query {
	all := &events.Query{Kind: events.KeptQuery, Workflow: workflow, Token: q.Token}
	switch r := q.Inner.(type) {
	case *frames.KvGet:
		if all.Keys = r.Keys; len(r.Keys) == 0 {
			all.Keys = []string{""} // no key: none is kept
		}
	case *frames.KvList:
		all.Prefix, all.Reverse, all.Limit = r.Prefix, r.Reverse, r.Limit
	default:
		return nil
	}
	return all
}

// commandOf is the body of the command that a request comes to.
func commandOf(q *frames.ToServerKvRequest) (json.RawMessage, error) {
	c := events.KeepKeys{Token: q.Token, Delete: []string{}, Put: []events.KeptCandidate{}}
	switch r := q.Inner.(type) {
	case *frames.KvPut:
		for _, e := range r.Entries {
			c.Put = append(c.Put, events.KeptCandidate(e))
		}
	case *frames.KvDelete:
		c.Delete = r.Keys
	default:
		return nil, fmt.Errorf("a request for keys of the type %T", r)
	}
	b, err := events.MarshalPlain(c) // escapes could make a value longer than may be kept
	if err != nil {
		return nil, fmt.Errorf("encode a request for keys: %w", err)
	}
	return b, nil
}

// refused says why an owner has not done what was asked.
func refused(r *events.Refusal) *frames.KvError {
	code := frames.KvUnavailable // it is an owner that does not understand it
	switch r.Code {
	case "attempt_closed", "not_found":
		code = frames.KvUnknownAttempt
	case "store_full", "too_large":
		code = frames.KvFull
	case "not_json", "invalid_field", "missing_field":
		code = frames.KvInvalidValue
	}
	return &frames.KvError{Code: code, Message: r.Message}
}

// unanswered says why there is no answer.
func unanswered(err error) *frames.KvError {
	e := &frames.KvError{Code: frames.KvUnavailable, Message: err.Error() + "; whether it is done is unknown"}
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		e.Code, e.Message = frames.KvFull, "the request is larger than Kafka takes"
	case errors.Is(err, request.ErrBusy):
		e.Message = err.Error() + "; this one was not done"
	case errors.Is(err, context.Canceled):
		e.Message = "the executor ends; whether it is done is unknown"
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = "the owner of the keys does not answer; whether it is done is unknown"
	}
	return e
}

// entriesOf reads what an owner answers; no body: there is nothing to read.
func entriesOf(body json.RawMessage) ([]frames.KvEntry, *frames.KvError) {
	if len(body) == 0 {
		return nil, nil
	}
	var a events.KeptAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, &frames.KvError{Code: frames.KvUnavailable, Message: "the answer of the owner of the keys cannot be read"}
	}
	all := make([]frames.KvEntry, len(a.Entries))
	for i, e := range a.Entries {
		all[i] = frames.KvEntry(e)
	}
	return all, nil
}
