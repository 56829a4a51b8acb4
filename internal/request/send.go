package request

import (
	"cmp"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Command is what is asked of a workflow.
type Command struct {
	Name     string
	Workflow string
	ID       string // the dedupe id; empty: a new one
	Body     []byte // the JSON object of the command; not copied
	Trace    string // traceparent, or empty
}

// Send produces a command and returns its id once Kafka has acknowledged it.
// Nobody answers it. ctx bounds the wait for the acknowledgement.
func (cl *Client) Send(ctx context.Context, cmd Command) (string, error) {
	if cmd.ID == "" {
		cmd.ID = cl.nextID()
	}
	return cmd.ID, cl.acknowledged(ctx, cl.record(cmd, "", ""))
}

// Call produces a command whose decision is told; with drained, so is the end of
// the work that it causes. It does not wait for Kafka. The record is not
// taken back when ctx ends.
func (cl *Client) Call(ctx context.Context, cmd Command, drained bool) (*Call, error) {
	wait := ""
	if drained {
		wait = events.WaitDrained
	}
	return cl.call(ctx, cmd, wait)
}

// CallEnd is Call for those who want the end of the work alone: the decision is
// told only if it does not lead there. It costs one reply less.
func (cl *Client) CallEnd(ctx context.Context, cmd Command) (*Call, error) {
	return cl.call(ctx, cmd, events.WaitEnd)
}

func (cl *Client) call(ctx context.Context, cmd Command, wait string) (*Call, error) {
	replyID := cl.nextID()
	repeatable := cmd.ID != ""
	if !repeatable {
		cmd.ID = replyID
	}
	c, err := cl.register(&Call{ID: cmd.ID, replyID: replyID, repeatable: repeatable, command: cmd, wait: wait})
	if err != nil {
		return nil, err
	}
	cl.produce(ctx, c, cl.record(cmd, replyID, wait))
	return c, nil
}

// Query asks for a consistent read and waits for the answer, at most until
// ctx ends; it needs a deadline.
func (cl *Client) Query(ctx context.Context, q events.Query) (events.Reply, error) {
	return cl.query(ctx, q, func(value []byte) *kgo.Record {
		return kafka.Keyed(cl.names.Queries(), []byte(q.Workflow), value)
	})
}

// QueryAt is Query of a partition, whatever the hash of the ID: for what a partition is
// asked about more than one workflow.
func (cl *Client) QueryAt(ctx context.Context, partition int32, q events.Query) (events.Reply, error) {
	return cl.query(ctx, q, func(value []byte) *kgo.Record {
		return kafka.Placed(cl.names.Queries(), partition, []byte(q.Workflow), value)
	})
}

func (cl *Client) query(ctx context.Context, q events.Query, record func(value []byte) *kgo.Record) (events.Reply, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return events.Reply{}, fmt.Errorf("query %s of %s: the context has no deadline", q.Kind, q.Workflow)
	}
	replyID := cl.nextID()
	c, err := cl.register(&Call{ID: replyID, replyID: replyID})
	if err != nil {
		return events.Reply{}, err
	}
	defer c.Close()
	q.Deadline = deadline.UnixMilli()
	q.ReplyTo = events.ReplyTo{Address: string(cl.address), ID: replyID}
	cl.produce(ctx, c, record(wire.Marshal(&q)))
	return c.Next(ctx)
}

// Produce writes a record of another kind (a definition) and waits for the
// acknowledgement.
func (cl *Client) Produce(ctx context.Context, topic string, key, value []byte) error {
	return cl.acknowledged(ctx, kafka.Keyed(topic, key, value))
}

// acknowledged produces r and waits, for a record in flight too, at most until
// ctx ends: what became of it is unknown then.
func (cl *Client) acknowledged(ctx context.Context, r *kgo.Record) error {
	sending, cancel := cl.bounded(ctx)
	acked := make(chan error, 1)
	cl.producer.Produce(sending, r, func(_ *kgo.Record, err error) { acked <- err; cancel() })
	select {
	case <-ctx.Done():
	case <-sending.Done():
	}
	select {
	case err := <-acked:
		if err != nil {
			return unavailable(err)
		}
		return nil
	default:
		return unavailable(cmp.Or(ctx.Err(), sending.Err()))
	}
}

// bounded bounds the time that a record may wait for Kafka, the same for all.
// Nothing else ends it, not a caller that hangs up: with a record kgo fails all that stand
// behind it for its partition, and those are of others who ask.
func (cl *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cl.produceTimeout)
}

func (cl *Client) produce(ctx context.Context, c *Call, r *kgo.Record) {
	ctx, cancel := cl.bounded(ctx)
	cl.producer.Produce(ctx, r, func(_ *kgo.Record, err error) {
		cancel()
		if err != nil {
			c.fail(unavailable(err))
		}
	})
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// record makes the record of a command: CloudEvents, binary mode.
func (cl *Client) record(cmd Command, replyID, wait string) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, 8)
	headers = append(headers,
		kafka.Header(events.HeaderID, []byte(cmd.ID)),
		kafka.Header(events.HeaderSource, cl.source),
		kafka.Header(events.HeaderType, []byte(events.CommandType(cmd.Name))),
	)
	if cmd.Trace != "" {
		headers = append(headers, kafka.Header(events.HeaderTrace, []byte(cmd.Trace)))
	}
	if replyID != "" {
		headers = append(headers,
			kafka.Header(events.HeaderReplyTo, cl.address),
			kafka.Header(events.HeaderReplyID, []byte(replyID)))
	}
	if wait != "" {
		headers = append(headers, kafka.Header(events.HeaderReplyWait, []byte(wait)))
	}
	if p, ok := events.PartitionOf(cmd.Workflow); ok { // whatever its hash
		return kafka.Placed(cl.names.Commands(), p, []byte(cmd.Workflow), cmd.Body, headers...)
	}
	return kafka.Keyed(cl.names.Commands(), []byte(cmd.Workflow), cmd.Body, headers...)
}
