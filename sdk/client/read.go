package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// Get is the workflow as of now: a consistent read.
func (c *Client) Get(ctx context.Context, id string) (*Workflow, error) {
	return read[*Workflow](ctx, c, Query{Kind: "workflow", Workflow: id})
}

// Results are the latest values of the outputs as of now, without waiting.
func (c *Client) Results(ctx context.Context, id string) (*Results, error) {
	return read[*Results](ctx, c, Query{Kind: "results", Workflow: id})
}

// AllResults are all values of each output, in order of production.
func (c *Client) AllResults(ctx context.Context, id string) (*AllResults, error) {
	return read[*AllResults](ctx, c, Query{Kind: "results", Workflow: id, All: true})
}

// Productions are all values of each component, in order of production.
func (c *Client) Productions(ctx context.Context, id string) (map[string][]json.RawMessage, error) {
	type productions struct {
		Productions map[string][]json.RawMessage `json:"productions"`
	}
	p, err := read[productions](ctx, c, Query{Kind: "productions", Workflow: id})
	return p.Productions, err
}

// PageOptions choose one page of a list.
type PageOptions struct {
	Cursor string         // Next of the page before; empty: the first
	Limit  int            // 0: the default
	Status RunnableStatus // runnables: only those of this status

	Component string // runnables: only those of this component
}

// Runnables are the runnables of a workflow.
func (c *Client) Runnables(ctx context.Context, id string, o PageOptions) (*Page[Runnable], error) {
	return read[*Page[Runnable]](ctx, c, Query{Kind: "runnables", Workflow: id, Cursor: o.Cursor, Limit: o.Limit, Status: string(o.Status), Component: o.Component})
}

// Explain says why a workflow is where it is.
func (c *Client) Explain(ctx context.Context, id string, o PageOptions) (*Explanation, error) {
	return read[*Explanation](ctx, c, Query{Kind: "explain", Workflow: id, Cursor: o.Cursor, Limit: o.Limit, Status: string(o.Status), Component: o.Component})
}

func read[T any](ctx context.Context, c *Client, q Query) (T, error) {
	var out T
	raw, err := c.t.Query(ctx, q)
	if err != nil {
		return out, fmt.Errorf("%s of %s: %w", q.Kind, q.Workflow, err)
	}
	return decode[T](q.Kind+" of "+q.Workflow, raw)
}

func decode[T any](what string, raw json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("decode %s: %w", what, err)
	}
	return out, nil
}

// History is one page of a workflow's events, oldest first.
func (c *Client) History(ctx context.Context, id string, o PageOptions) (*Page[Event], error) {
	raw, err := c.t.History(ctx, id, o.Cursor, o.Limit)
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", id, err)
	}
	return decode[*Page[Event]]("history of "+id, raw)
}

// Graph is the workflow's graph with its live status: format is mermaid or json.
func (c *Client) Graph(ctx context.Context, id, format string) ([]byte, error) {
	b, err := c.t.Graph(ctx, id, format)
	if err != nil {
		return nil, fmt.Errorf("graph of %s: %w", id, err)
	}
	return b, nil
}

// Definitions lists the names under which definitions are registered, with how many
// open workflows use them. Like List it is the gateway's: not over Kafka.
func (c *Client) Definitions(ctx context.Context, o PageOptions) (*Page[NamedDefinition], error) {
	raw, err := c.t.Definitions(ctx, o.Cursor, o.Limit)
	if err != nil {
		return nil, fmt.Errorf("definitions: %w", err)
	}
	return decode[*Page[NamedDefinition]]("definitions", raw)
}

// Versions are all definitions of a name, newest registration first. They are the
// gateway's, too.
func (c *Client) Versions(ctx context.Context, name string) ([]DefinitionVersion, error) {
	raw, err := c.t.Versions(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", name, err)
	}
	page, err := decode[*Page[DefinitionVersion]]("versions", raw)
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// Define registers a definition, JSON or YAML, under its own name. It returns
// when the deployment can start it.
func (c *Client) Define(ctx context.Context, name string, source []byte) (*Definition, error) {
	d, err := c.t.Define(ctx, name, source)
	if err != nil {
		return nil, fmt.Errorf("define %s: %w", name, err)
	}
	return d, nil
}
