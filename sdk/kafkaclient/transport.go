package kafkaclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	sendTimeout = 10 * time.Second // for an acknowledgement, where ctx has no deadline
	readTimeout = 30 * time.Second // for an answer, where ctx has no deadline
)

// transport talks to planners directly.
type transport struct {
	config   kafka.Config
	requests *request.Client

	mu  sync.Mutex
	own map[string]ownDefinition // by name: what this client registered

	prepared map[[sha256.Size]byte]bool // inline definitions whose queues there are
}

type ownDefinition struct {
	digest    string
	canonical []byte
}

func (t *transport) Close() error { return t.requests.Close() }

func (t *transport) Command(ctx context.Context, c client.Command) (client.Answer, error) {
	out := request.Command{Name: c.Name, Workflow: c.Workflow, ID: c.ID, Body: c.Body}
	if c.Token != "" {
		out.Body = withField("token", c.Token, c.Body)
	}
	if c.Signal != "" {
		out.Body = withField("name", c.Signal, c.Body)
	}
	if c.Runner != "" {
		out.Body = withField("runner", c.Runner, c.Body)
		to, err := t.requests.PoolOfRunner(ctx, c.Workflow, c.Runner)
		if err != nil {
			return client.Answer{}, fault(err)
		}
		out.Workflow = to
	}
	_, partition := events.PartitionOf(c.Workflow)
	_, noPool := events.ParsePoolID(c.Workflow)
	other := partition && events.ToPartition(c.Name) || noPool == nil && c.Name == "stop_runner"
	if err := events.CheckWorkflowID(c.Workflow); err != nil && !other {
		return client.Answer{}, &client.Error{Code: "invalid_workflow_id", Path: "id", Message: err.Error()}
	}
	if c.Wait == client.UntilWritten {
		ctx, cancel := bounded(ctx, sendTimeout)
		defer cancel()
		_, err := t.requests.Send(ctx, out)
		return client.Answer{}, fault(err)
	}
	if c.Wait == client.UntilDrained {
		return t.untilDrained(ctx, out)
	}
	call, err := t.requests.Call(ctx, out, false)
	if err != nil {
		return client.Answer{}, fault(err)
	}
	defer call.Close()
	ctx, cancel := bounded(ctx, readTimeout)
	defer cancel()
	r, err := call.Decided(ctx)
	if err != nil {
		return client.Answer{}, fault(err)
	}
	return decided(r)
}

func (t *transport) untilDrained(ctx context.Context, c request.Command) (client.Answer, error) {
	call, err := t.requests.CallEnd(ctx, c)
	if err != nil {
		return client.Answer{}, fault(err)
	}
	defer call.Close()
	end, err := request.WaitEnd[*client.Workflow, map[string]json.RawMessage](ctx, call, c.Workflow)
	if err == nil && end.Workflow == nil {
		err = fmt.Errorf("the end of %s was told without its summary", c.Workflow)
	}
	if err != nil {
		return client.Answer{}, fault(err)
	}
	return client.Answer{Workflow: end.Workflow, Results: end.Results, Drained: true}, nil
}

// withField puts a text in front of the object's other fields.
func withField(name, text string, body []byte) []byte {
	out := append(events.AppendText([]byte(`{"`+name+`":`), text), ',')
	if string(body) == "{}" {
		out = out[:len(out)-1]
	}
	return append(out, body[1:]...)
}

// await looks until the workflow has drained.
func (t *transport) Await(ctx context.Context, workflow string) (client.Answer, error) {
	d, err := t.requests.Await(ctx, workflow)
	if err != nil {
		return client.Answer{}, fault(err)
	}
	return drained(d)
}

func (t *transport) Query(ctx context.Context, q client.Query) (json.RawMessage, error) {
	switch q.Kind {
	case client.QueryArchive, client.QueryArchived, client.QueryArchivedHistory, client.QueryRestore:
		return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "the archive is the gateway's to read: connect with a URL"}
	case client.QueryLookup:
		return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "who owns partitions is the gateway's to tell: connect with a URL"}
	}
	if q.Kind == events.PoolsQuery || q.Kind == events.RunnersQuery && q.Workflow == "" {
		return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: "lists are the gateway's: connect with a URL"}
	}
	ctx, cancel := bounded(ctx, readTimeout)
	defer cancel()
	query := events.Query{
		Kind: q.Kind, Workflow: q.Workflow, All: q.All, Cursor: q.Cursor, Limit: uint32(max(0, q.Limit)), Filter: cmp.Or(q.Status, q.Attempt),
		Component: q.Component, Queue: q.Queue,
	}
	if p, ok := events.PartitionOf(q.Workflow); ok { // whatever its hash
		body, err := t.requests.ReadAt(ctx, p, query)
		return listed(body), fault(err)
	}
	if q.Kind == events.PoolQuery {
		body, err := t.requests.Pool(ctx, query)
		return body, fault(err)
	}
	if q.Kind == events.RunnersQuery {
		if n, err := t.requests.Shards(ctx, q.Workflow); err != nil {
			return nil, fault(err)
		} else if n > 0 {
			return nil, &client.Error{Code: client.ErrUnsupported.Code, Message: fmt.Sprintf(
				"the pool has %d shards: name one of them, as %s/1, or connect with a URL", n, strings.TrimPrefix(q.Workflow, events.PoolPrefix))}
		}
	}
	body, err := t.requests.Read(ctx, query)
	if q.Kind == events.RunnersQuery && err == nil {
		return page(body)
	}
	return body, fault(err)
}

// page is a page of what an entity has as the gateway tells it.
func page(list json.RawMessage) (json.RawMessage, error) {
	var l events.EntityList[json.RawMessage]
	if err := json.Unmarshal(list, &l); err != nil {
		return nil, fmt.Errorf("decode a list: %w", err)
	}
	return json.Marshal(client.Page[json.RawMessage]{Items: l.Items, Next: l.Next})
}

// listed is a planner's list as the gateway tells it.
func listed(items json.RawMessage) json.RawMessage {
	return append(append([]byte(`{"items":`), items...), '}')
}

// bounded adds a deadline where there is none.
func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

func fault(err error) error {
	if refused, ok := errors.AsType[*request.RefusedError](err); ok {
		_, err := decided(refused.Reply)
		return err
	}
	if errors.Is(err, request.ErrUnavailable) {
		return &client.Error{Code: client.ErrUnavailable.Code, Message: err.Error()}
	}
	return err
}

// decided turns a decision into an answer or a refusal. Its body, when there is
// one, is the workflow.
func decided(r events.Reply) (client.Answer, error) {
	var w *client.Workflow
	if len(r.Body) > 0 {
		if err := json.Unmarshal(r.Body, &w); err != nil {
			return client.Answer{}, fmt.Errorf("decode the workflow: %w", err)
		}
	}
	if r.Refusal != nil {
		return client.Answer{Workflow: w}, &client.Error{Code: r.Refusal.Code, Message: r.Refusal.Message, Path: r.Refusal.Path, Workflow: w}
	}
	return client.Answer{Workflow: w, Unchanged: r.Result == events.ResultNoChange}, nil
}

func drained(d request.Drained) (client.Answer, error) {
	a := client.Answer{Drained: true}
	if err := json.Unmarshal(d.Workflow, &a.Workflow); err != nil {
		return client.Answer{}, fmt.Errorf("decode the workflow: %w", err)
	}
	if err := json.Unmarshal(d.Results, &a.Results); err != nil {
		return client.Answer{}, fmt.Errorf("decode the results: %w", err)
	}
	return a, nil
}
