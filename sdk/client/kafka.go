package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/ask"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	openTimeout = 10 * time.Second // to find one's place in the replies topic
	sendTimeout = 10 * time.Second // for an acknowledgement, where ctx has no deadline
	readTimeout = 30 * time.Second // for an answer, where ctx has no deadline
)

// kafkaTransport talks to planners directly.
type kafkaTransport struct {
	o     Options
	asker *ask.Asker

	mu  sync.Mutex
	own map[string]ownDefinition // by name: what this client registered

	prepared map[[sha256.Size]byte]bool // inline definitions whose queues there are
}

type ownDefinition struct {
	digest    string
	canonical []byte
}

func newKafkaTransport(o Options) (*kafkaTransport, error) {
	if len(o.Brokers) > 0 {
		o.Kafka.Brokers = o.Brokers
	}
	if o.Prefix != "" {
		o.Kafka.Prefix = o.Prefix
	}
	if o.Security != (Security{}) {
		o.Kafka.Security = o.Security
	}
	if o.Source == "" {
		o.Source = "client"
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	a, err := ask.Open(ctx, ask.Options{Kafka: o.Kafka, Source: o.Source, MaxWaiting: o.MaxWaiting, Logger: o.Kafka.Logger})
	if kafka.IsMissing(err) {
		return nil, fmt.Errorf("%w; there is no deployment of the prefix %q: heddle topics apply makes one", err, o.Kafka.Prefix)
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w; %s", err, kafka.ReachHint)
	}
	if err != nil {
		return nil, err
	}
	return &kafkaTransport{o: o, asker: a, own: map[string]ownDefinition{}, prepared: map[[sha256.Size]byte]bool{}}, nil
}

func (t *kafkaTransport) close() error { return t.asker.Close() }

func (t *kafkaTransport) command(ctx context.Context, c command) (answer, error) {
	out := ask.Command{Name: c.name, Workflow: c.workflow, ID: c.id, Body: c.body}
	if c.token != "" {
		out.Body = withToken(c.token, c.body)
	}
	if err := events.CheckWorkflowID(c.workflow); err != nil {
		return answer{}, &Error{Code: "invalid_workflow_id", Path: "id", Message: err.Error()}
	}
	if c.wait == waitNone {
		ctx, cancel := bounded(ctx, sendTimeout)
		defer cancel()
		_, err := t.asker.Send(ctx, out)
		return answer{}, fault(err)
	}
	if c.wait == waitDrained {
		return t.untilDrained(ctx, out)
	}
	call, err := t.asker.Ask(ctx, out, false)
	if err != nil {
		return answer{}, fault(err)
	}
	defer call.Close()
	ctx, cancel := bounded(ctx, readTimeout)
	defer cancel()
	r, err := call.Decided(ctx)
	if err != nil {
		return answer{}, fault(err)
	}
	return decided(r)
}

func (t *kafkaTransport) untilDrained(ctx context.Context, c ask.Command) (answer, error) {
	call, err := t.asker.AskEnd(ctx, c)
	if err != nil {
		return answer{}, fault(err)
	}
	defer call.Close()
	end, err := ask.WaitEnd(ctx, call, c.Workflow, endForm)
	if err == nil && end.Workflow == nil {
		err = fmt.Errorf("the end of %s was told without its summary", c.Workflow)
	}
	if err != nil {
		return answer{}, fault(err)
	}
	return answer{workflow: end.Workflow, results: end.Results, drained: true}, nil
}

// withToken puts the token, which needs no escaping, in front of the object's
// other fields.
func withToken(token string, body []byte) []byte {
	out := append([]byte(`{"token":"`+token+`"`), ',')
	if string(body) == "{}" {
		out = out[:len(out)-1]
	}
	return append(out, body[1:]...)
}

// await looks until the workflow has drained.
func (t *kafkaTransport) await(ctx context.Context, workflow string) (answer, error) {
	d, err := t.asker.Await(ctx, workflow)
	if err != nil {
		return answer{}, fault(err)
	}
	return drained(d)
}

func (t *kafkaTransport) query(ctx context.Context, q query) (rawJSON, error) {
	ctx, cancel := bounded(ctx, readTimeout)
	defer cancel()
	body, err := t.asker.Read(ctx, events.Query{
		Kind: q.kind, Workflow: q.workflow, All: q.all, Cursor: q.cursor, Limit: uint32(max(0, q.limit)), Filter: q.status,
	})
	return body, fault(err)
}

// bounded adds a deadline where there is none.
func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

func fault(err error) error {
	if refused, ok := errors.AsType[*ask.RefusedError](err); ok {
		_, err := decided(refused.Reply)
		return err
	}
	if errors.Is(err, ask.ErrUnavailable) {
		return &Error{Code: ErrUnavailable.Code, Message: err.Error()}
	}
	return err
}

// decided turns a decision into an answer or a refusal. Its body, when there is
// one, is the workflow.
func decided(r events.Reply) (answer, error) {
	var w *Workflow
	if len(r.Body) > 0 {
		var err error
		if w, err = decode[*Workflow]("workflow", r.Body); err != nil {
			return answer{}, err
		}
	}
	if r.Refusal != nil {
		e := refusalError(r.Refusal)
		e.Workflow = w
		return answer{workflow: w}, e
	}
	return answer{workflow: w}, nil
}

func drained(d ask.Drained) (answer, error) {
	w, err := decode[*Workflow]("workflow", d.Workflow)
	if err != nil {
		return answer{}, err
	}
	results, err := decode[map[string]json.RawMessage]("results", d.Results)
	return answer{workflow: w, results: results, drained: true}, err
}
