package kafkaclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// pageSize is how many events a page of the history has, where no limit is given.
const pageSize = 1000

// subject finds what reading a workflow's history needs.
func (t *transport) subject(ctx context.Context, workflow string) (history.Run, events.Position, *history.Names, error) {
	fail := func(err error) (history.Run, events.Position, *history.Names, error) {
		return history.Run{}, events.Position{}, nil, err
	}
	raw, err := t.Query(ctx, client.Query{Kind: "workflow", Workflow: workflow})
	if err != nil {
		return fail(err)
	}
	run, asOf, err := history.ParseRun(raw)
	if err != nil {
		return fail(err)
	}
	g, err := t.graphOf(ctx, workflow)
	if err != nil {
		return fail(err)
	}
	return run, asOf, history.NewNames(g.Components()), nil
}

func (t *transport) graphOf(ctx context.Context, workflow string) (*history.Graph, error) {
	raw, err := t.Query(ctx, client.Query{Kind: "graph", Workflow: workflow})
	if err != nil {
		return nil, err
	}
	return history.ParseGraph(raw)
}

func (t *transport) Graph(ctx context.Context, workflow, format string) ([]byte, error) {
	g, err := t.graphOf(ctx, workflow)
	if err != nil {
		return nil, err
	}
	switch format {
	case "mermaid":
		return []byte(g.Mermaid()), nil
	case "json", "":
		return g.JSON()
	}
	return nil, &client.Error{Code: "invalid_field", Path: "format", Message: fmt.Sprintf("%q is not mermaid or json", format)}
}

func (t *transport) History(ctx context.Context, workflow, cursor string, limit int) (json.RawMessage, error) {
	ctx, cancel := bounded(ctx, readTimeout)
	defer cancel()
	from, err := history.ParseCursor(cursor)
	if err != nil {
		return nil, &client.Error{Code: "invalid_field", Path: "cursor", Message: err.Error()}
	}
	run, asOf, names, err := t.subject(ctx, workflow)
	if err != nil {
		return nil, err
	}
	page, err := history.ReadPage(ctx, t.config, run, names, from, asOf, orDefault(limit, pageSize))
	if err != nil {
		return nil, historyError(err)
	}
	return json.Marshal(page)
}

func orDefault(limit, def int) int {
	if limit <= 0 {
		return def
	}
	return limit
}

func historyError(err error) error {
	if errors.Is(err, history.ErrGone) {
		return &client.Error{Code: "gone", Message: err.Error()}
	}
	return err
}

// events reads the journal from the run's start for as long as it is wanted.
func (t *transport) Events(ctx context.Context, workflow string, yield func(client.Event) bool) error {
	run, asOf, names, err := t.subject(ctx, workflow)
	if err != nil {
		return err
	}
	var decodeErr error
	err = history.Follow(ctx, t.config, run, history.Cursor{}, asOf, func(i history.Item) bool {
		var e client.Event
		if decodeErr = json.Unmarshal(names.Print(i), &e); decodeErr != nil {
			return false
		}
		_, deleted := i.Event.(*events.WorkflowDeleted)
		return yield(e) && !deleted
	})
	return historyError(errors.Join(err, decodeErr))
}

func (t *transport) Readiness(context.Context) (json.RawMessage, error) {
	return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "readiness is the gateway's: connect with a URL"}
}

func (t *transport) Definitions(context.Context, string, int) (json.RawMessage, error) {
	return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "lists are the gateway's: connect with a URL"}
}

func (t *transport) Versions(context.Context, string) (json.RawMessage, error) {
	return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "lists are the gateway's: connect with a URL"}
}

func (t *transport) List(context.Context, client.Filter) (json.RawMessage, error) {
	return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "lists are the gateway's: connect with a URL"}
}

func (t *transport) Keys(context.Context, client.KeyFilter) (json.RawMessage, error) {
	return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "lists are the gateway's: connect with a URL"}
}
