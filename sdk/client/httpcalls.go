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
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

// commandRequest is the route of a command.
func commandRequest(c Command) request {
	r := request{method: http.MethodPost, key: c.ID, body: c.Body, query: url.Values{}}
	if p, is := events.PartitionOf(c.Workflow); is && events.ToPartition(c.Name) {
		r.path = path("v1", "partitions", strconv.Itoa(int(p)), strings.ReplaceAll(c.Name, "_", "-"))
		return r
	}
	switch c.Name {
	case "start":
		r.method, r.path = http.MethodPut, path("v1", "workflows", c.Workflow)
	case "input":
		r.path = path("v1", "workflows", c.Workflow, "inputs")
	case "set_policies":
		r.method, r.path = http.MethodPut, path("v1", "workflows", c.Workflow, "policies")
	case "delete":
		r.method, r.path = http.MethodDelete, path("v1", "workflows", c.Workflow)
	case "signal":
		r.path = path("v1", "workflows", c.Workflow, "signals", c.Signal)
	case "complete", "fail", "heartbeat":
		r.path = path("v1", "tasks", c.Token, c.Name)
	case "stop_runner":
		r.path = path("v1", "pools", strings.TrimPrefix(c.Workflow, events.PoolPrefix), "runners", c.Runner, "stop")
	default:
		r.path = path("v1", "workflows", c.Workflow, c.Name)
	}
	if c.Name == "start" || c.Name == "input" {
		switch c.Wait {
		case UntilDecided:
			r.query.Set("wait", "accepted")
		case UntilDrained:
			r.query.Set("wait", waitStep.String())
			r.waits = waitStep
		case UntilWritten:
		}
	}
	return r
}

func (t *httpTransport) Command(ctx context.Context, c Command) (Answer, error) {
	if c.ID == "" {
		c.ID = rand.Text()
	}
	status, b, err := t.fetch(ctx, commandRequest(c))
	if err != nil {
		return Answer{}, err
	}
	if len(b) == 0 {
		return Answer{}, nil
	}
	var body struct {
		Result   string                     `json:"result"`
		Workflow *Workflow                  `json:"workflow"`
		Results  map[string]json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(b, &body); err != nil {
		return Answer{}, fmt.Errorf("decode the answer to %s: %w", c.Name, err)
	}
	a := Answer{Workflow: body.Workflow, Results: body.Results, Written: status == http.StatusAccepted, Unchanged: body.Result == events.ResultNoChange}
	a.Drained = c.Wait == UntilDrained && status == http.StatusOK
	if c.Wait == UntilDrained && !a.Drained {
		return t.Await(ctx, c.Workflow)
	}
	return a, nil
}

// await asks, each time for as long as one request may wait.
func (t *httpTransport) Await(ctx context.Context, workflow string) (Answer, error) {
	for {
		_, b, err := t.fetch(ctx, request{
			method: http.MethodGet, path: path("v1", "workflows", workflow),
			query: url.Values{"wait": {waitStep.String()}}, waits: waitStep,
		})
		if err != nil {
			return Answer{}, err
		}
		w, err := decode[*Workflow]("workflow", b)
		if err != nil {
			return Answer{}, err
		}
		if !w.Drained() {
			continue
		}
		raw, err := t.Query(ctx, Query{Kind: "results", Workflow: workflow})
		if err != nil {
			return Answer{}, err
		}
		r, err := decode[*Results]("results", raw)
		if err != nil {
			return Answer{}, err
		}
		return Answer{Workflow: w, Results: r.Results, Drained: true}, nil
	}
}

func (t *httpTransport) Query(ctx context.Context, q Query) (json.RawMessage, error) {
	for _, special := range []func(Query) (request, bool){archiveRequest, poolRequest} {
		if r, is := special(q); is {
			_, b, err := t.fetch(ctx, r)
			return b, err
		}
	}
	r := request{method: http.MethodGet, path: path("v1", "workflows", q.Workflow), query: url.Values{}}
	if kind, name, err := events.ParseKeyID(q.Workflow); err == nil {
		r.path = path("v1", "keys", name)
		r.query.Set("kind", kind)
	} else if p, ok := events.PartitionOf(q.Workflow); ok {
		r.path = path("v1", "partitions", strconv.Itoa(int(p)), q.Kind)
	} else if q.Kind != "workflow" {
		r.path += "/" + q.Kind
	}
	if q.All {
		r.query.Set("all", "true")
	}
	if q.Status != "" {
		r.query.Set("status", q.Status)
	}
	if q.Queue != "" {
		r.query.Set("queue", q.Queue)
	}
	if q.Component != "" {
		r.query.Set("component", q.Component)
	}
	setPage(r.query, q.Cursor, q.Limit)
	_, b, err := t.fetch(ctx, r)
	return b, err
}

// poolRequest is the route of a question about pools, and whether it is one.
func poolRequest(q Query) (r request, is bool) {
	name := strings.TrimPrefix(q.Workflow, events.PoolPrefix)
	r = request{method: http.MethodGet, query: url.Values{}}
	switch q.Kind {
	case events.PoolsQuery:
		r.path = path("v1", "pools")
	case events.RunnersQuery:
		r.path = path("v1", "runners")
		if name != "" {
			r.query.Set("pool", name)
		}
	case events.PoolQuery:
		r.path = path("v1", "pools", name)
		if q.Attempt != "" {
			r.query.Set("attempt", q.Attempt)
		}
	default:
		return r, false
	}
	setPage(r.query, q.Cursor, q.Limit)
	return r, true
}

func setPage(v url.Values, cursor string, limit int) {
	if cursor != "" {
		v.Set("cursor", cursor)
	}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
}

func (t *httpTransport) History(ctx context.Context, workflow, cursor string, limit int) (json.RawMessage, error) {
	return t.Query(ctx, Query{Kind: "history", Workflow: workflow, Cursor: cursor, Limit: limit})
}

func (t *httpTransport) Graph(ctx context.Context, workflow, format string) ([]byte, error) {
	_, b, err := t.fetch(ctx, request{
		method: http.MethodGet, path: path("v1", "workflows", workflow, "graph"), query: url.Values{"format": {format}},
	})
	return b, err
}

func (t *httpTransport) List(ctx context.Context, f Filter) (json.RawMessage, error) {
	v := url.Values{}
	for _, t := range f.search().Terms() {
		v.Set(t.Name, t.Value)
	}
	if f.Archived {
		v.Set("archived", "true")
	}
	setPage(v, f.Cursor, f.Limit)
	_, b, err := t.fetch(ctx, request{method: http.MethodGet, path: "/v1/workflows", query: v})
	return b, err
}

func (t *httpTransport) Keys(ctx context.Context, f KeyFilter) (json.RawMessage, error) {
	v := url.Values{}
	if f.Kind != "" {
		v.Set("kind", f.Kind)
	}
	setPage(v, f.Cursor, f.Limit)
	_, b, err := t.fetch(ctx, request{method: http.MethodGet, path: path("v1", "keys"), query: v})
	return b, err
}

func (t *httpTransport) Readiness(ctx context.Context) (json.RawMessage, error) {
	_, b, err := t.fetch(ctx, request{method: http.MethodGet, path: path("v1", "readiness")})
	return b, err
}

func (t *httpTransport) Definitions(ctx context.Context, cursor string, limit int) (json.RawMessage, error) {
	r := request{method: http.MethodGet, path: path("v1", "definitions"), query: url.Values{}}
	setPage(r.query, cursor, limit)
	_, b, err := t.fetch(ctx, r)
	return b, err
}

func (t *httpTransport) Versions(ctx context.Context, name string) (json.RawMessage, error) {
	_, b, err := t.fetch(ctx, request{method: http.MethodGet, path: path("v1", "definitions", name, "versions")})
	return b, err
}

func (t *httpTransport) Define(ctx context.Context, name string, source []byte) (*Definition, error) {
	_, b, err := t.fetch(ctx, request{method: http.MethodPut, path: path("v1", "definitions", name), body: source})
	if err != nil {
		return nil, err
	}
	return decode[*Definition]("definition", b)
}

func (t *httpTransport) Defined(string) (string, []byte) { return "", nil }

// prepare leaves everything to the gateway.
func (t *httpTransport) Prepare(context.Context, string) error { return nil }

// events follows the SSE stream and takes it up again where it broke off. One
// that never began is an error.
func (t *httpTransport) Events(ctx context.Context, workflow string, yield func(Event) bool) error {
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
