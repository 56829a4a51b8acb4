package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// commandRequest is the route of a command.
func commandRequest(c command) request {
	r := request{method: http.MethodPost, key: c.id, body: c.body, query: url.Values{}}
	switch c.name {
	case "start":
		r.method, r.path = http.MethodPut, path("v1", "workflows", c.workflow)
	case "input":
		r.path = path("v1", "workflows", c.workflow, "inputs")
	case "delete":
		r.method, r.path = http.MethodDelete, path("v1", "workflows", c.workflow)
	case "complete", "fail", "heartbeat":
		r.path = path("v1", "tasks", c.token, c.name)
	default:
		r.path = path("v1", "workflows", c.workflow, c.name)
	}
	if c.name == "start" || c.name == "input" {
		switch c.wait {
		case waitDecided:
			r.query.Set("wait", "accepted")
		case waitDrained:
			r.query.Set("wait", waitStep.String())
			r.waits = waitStep
		case waitNone:
		}
	}
	return r
}

func (t *httpTransport) command(ctx context.Context, c command) (answer, error) {
	if c.id == "" {
		c.id = rand.Text()
	}
	status, b, err := t.fetch(ctx, commandRequest(c))
	if err != nil {
		return answer{}, err
	}
	if len(b) == 0 {
		return answer{}, nil
	}
	var body struct {
		Workflow *Workflow                  `json:"workflow"`
		Results  map[string]json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(b, &body); err != nil {
		return answer{}, fmt.Errorf("decode the answer to %s: %w", c.name, err)
	}
	a := answer{workflow: body.Workflow, results: body.Results}
	a.drained = c.wait == waitDrained && status == http.StatusOK
	if c.wait == waitDrained && !a.drained {
		return t.await(ctx, c.workflow)
	}
	return a, nil
}

// await asks, each time for as long as one request may wait.
func (t *httpTransport) await(ctx context.Context, workflow string) (answer, error) {
	for {
		_, b, err := t.fetch(ctx, request{
			method: http.MethodGet, path: path("v1", "workflows", workflow),
			query: url.Values{"wait": {waitStep.String()}}, waits: waitStep,
		})
		if err != nil {
			return answer{}, err
		}
		w, err := decode[*Workflow]("workflow", b)
		if err != nil {
			return answer{}, err
		}
		if !w.Drained() {
			continue
		}
		raw, err := t.query(ctx, query{kind: "results", workflow: workflow})
		if err != nil {
			return answer{}, err
		}
		r, err := decode[*Results]("results", raw)
		if err != nil {
			return answer{}, err
		}
		return answer{workflow: w, results: r.Results, drained: true}, nil
	}
}

func (t *httpTransport) query(ctx context.Context, q query) (rawJSON, error) {
	r := request{method: http.MethodGet, path: path("v1", "workflows", q.workflow), query: url.Values{}}
	if q.kind != "workflow" {
		r.path += "/" + q.kind
	}
	if q.all {
		r.query.Set("all", "true")
	}
	if q.status != "" {
		r.query.Set("status", q.status)
	}
	setPage(r.query, q.cursor, q.limit)
	_, b, err := t.fetch(ctx, r)
	return b, err
}

func setPage(v url.Values, cursor string, limit int) {
	if cursor != "" {
		v.Set("cursor", cursor)
	}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
}

func (t *httpTransport) history(ctx context.Context, workflow, cursor string, limit int) (rawJSON, error) {
	return t.query(ctx, query{kind: "history", workflow: workflow, cursor: cursor, limit: limit})
}

func (t *httpTransport) graph(ctx context.Context, workflow, format string) ([]byte, error) {
	_, b, err := t.fetch(ctx, request{
		method: http.MethodGet, path: path("v1", "workflows", workflow, "graph"), query: url.Values{"format": {format}},
	})
	return b, err
}

func (t *httpTransport) list(ctx context.Context, f Filter) (rawJSON, error) {
	v := url.Values{}
	if f.Status != "" {
		v.Set("status", f.Status)
	}
	if f.Definition != "" {
		v.Set("definition", f.Definition)
	}
	for k, label := range f.Labels {
		v.Set("label."+k, label)
	}
	if !f.CreatedAfter.IsZero() {
		v.Set("created_after", f.CreatedAfter.UTC().Format(time.RFC3339Nano))
	}
	setPage(v, f.Cursor, f.Limit)
	_, b, err := t.fetch(ctx, request{method: http.MethodGet, path: "/v1/workflows", query: v})
	return b, err
}

func (t *httpTransport) readiness(ctx context.Context) (rawJSON, error) {
	_, b, err := t.fetch(ctx, request{method: http.MethodGet, path: path("v1", "readiness")})
	return b, err
}

func (t *httpTransport) define(ctx context.Context, name string, source []byte) (*Definition, error) {
	_, b, err := t.fetch(ctx, request{method: http.MethodPut, path: path("v1", "definitions", name), body: source})
	if err != nil {
		return nil, err
	}
	return decode[*Definition]("definition", b)
}

func (t *httpTransport) defined(string) (string, []byte) { return "", nil }

// prepare leaves everything to the gateway.
func (t *httpTransport) prepare(context.Context, string) error { return nil }

// events follows the SSE stream and takes it up again where it broke off. One
// that never began is an error.
func (t *httpTransport) events(ctx context.Context, workflow string, yield func(Event) bool) error {
	last := ""
	for {
		done, err := t.stream(ctx, workflow, &last, yield)
		var refused *Error
		if done || ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.As(err, &refused) && (refused.Code != ErrUnavailable.Code || last == "") || errors.Is(err, errEvent) {
			return err
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
