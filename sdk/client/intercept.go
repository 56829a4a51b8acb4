package client

import (
	"context"
	"encoding/json"
	"slices"
)

// Call is one call of a Client, as interceptors see it.
type Call struct {
	Name     string // what is called: start, input, pause, …, or what is read: workflow, results, history, …
	Workflow string // its ID; empty for calls that are about none

	carryOut func(ctx context.Context) error
}

// Handler carries a call out, or hands it on. A refusal is an *Error.
type Handler func(ctx context.Context, c *Call) error

// Interceptor puts something around each call of a Client, as logging, tracing and
// metrics do: what it returns calls next, with the call that it was given. It is
// called once, when the client is made; what it returns is called from many goroutines.
type Interceptor func(next Handler) Handler

// intercepted is t with the interceptors around each of its calls.
func intercepted(t Transport, around []Interceptor) Transport {
	if len(around) == 0 {
		return t
	}
	h := func(ctx context.Context, c *Call) error { return c.carryOut(ctx) }
	for _, i := range slices.Backward(around) {
		h = i(h)
	}
	return &interceptedTransport{Transport: t, handler: h}
}

type interceptedTransport struct {
	Transport // what asks nobody, and Close
	handler   Handler
}

// around carries out one call that has an answer.
func around[A any](ctx context.Context, t *interceptedTransport, name, workflow string, call func(context.Context) (A, error)) (A, error) {
	var answer A
	err := t.handler(ctx, &Call{Name: name, Workflow: workflow, carryOut: func(ctx context.Context) (err error) {
		answer, err = call(ctx)
		return err
	}})
	return answer, err
}

// Command implements Transport.
func (t *interceptedTransport) Command(ctx context.Context, c Command) (Answer, error) {
	return around(ctx, t, c.Name, c.Workflow, func(ctx context.Context) (Answer, error) { return t.Transport.Command(ctx, c) })
}

// Query implements Transport.
func (t *interceptedTransport) Query(ctx context.Context, q Query) (json.RawMessage, error) {
	return around(ctx, t, q.Kind, q.Workflow, func(ctx context.Context) (json.RawMessage, error) { return t.Transport.Query(ctx, q) })
}

// Await implements Transport.
func (t *interceptedTransport) Await(ctx context.Context, workflow string) (Answer, error) {
	return around(ctx, t, "wait", workflow, func(ctx context.Context) (Answer, error) { return t.Transport.Await(ctx, workflow) })
}

// History implements Transport.
func (t *interceptedTransport) History(ctx context.Context, workflow, cursor string, limit int) (json.RawMessage, error) {
	return around(ctx, t, "history", workflow, func(ctx context.Context) (json.RawMessage, error) {
		return t.Transport.History(ctx, workflow, cursor, limit)
	})
}

// Events implements Transport.
func (t *interceptedTransport) Events(ctx context.Context, workflow string, yield func(Event) bool) error {
	return t.handler(ctx, &Call{Name: "events", Workflow: workflow, carryOut: func(ctx context.Context) error {
		return t.Transport.Events(ctx, workflow, yield)
	}})
}

// Define implements Transport.
func (t *interceptedTransport) Define(ctx context.Context, name string, source []byte) (*Definition, error) {
	return around(ctx, t, "define", "", func(ctx context.Context) (*Definition, error) { return t.Transport.Define(ctx, name, source) })
}

// List implements Transport.
func (t *interceptedTransport) List(ctx context.Context, f Filter) (json.RawMessage, error) {
	return around(ctx, t, "list", "", func(ctx context.Context) (json.RawMessage, error) { return t.Transport.List(ctx, f) })
}

// Keys implements Transport.
func (t *interceptedTransport) Keys(ctx context.Context, f KeyFilter) (json.RawMessage, error) {
	return around(ctx, t, "keys", "", func(ctx context.Context) (json.RawMessage, error) { return t.Transport.Keys(ctx, f) })
}

// Definitions implements Transport.
func (t *interceptedTransport) Definitions(ctx context.Context, cursor string, limit int) (json.RawMessage, error) {
	return around(ctx, t, "definitions", "", func(ctx context.Context) (json.RawMessage, error) {
		return t.Transport.Definitions(ctx, cursor, limit)
	})
}

// Versions implements Transport.
func (t *interceptedTransport) Versions(ctx context.Context, name string) (json.RawMessage, error) {
	return around(ctx, t, "versions", "", func(ctx context.Context) (json.RawMessage, error) { return t.Transport.Versions(ctx, name) })
}

// Readiness implements Transport.
func (t *interceptedTransport) Readiness(ctx context.Context) (json.RawMessage, error) {
	return around(ctx, t, "readiness", "", t.Transport.Readiness)
}

// Graph implements Transport.
func (t *interceptedTransport) Graph(ctx context.Context, workflow, format string) ([]byte, error) {
	return around(ctx, t, "graph", workflow, func(ctx context.Context) ([]byte, error) { return t.Transport.Graph(ctx, workflow, format) })
}
