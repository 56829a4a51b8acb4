package partition

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// queriesLook is how far back an owner that starts looks for queries.
const queriesLook = 30 * time.Second

// router reads the input logs and queries of all partitions of a process with
// one client and hands each record to its owner. Everything that changes what
// is read happens in its goroutine, between two polls: what was fetched before
// is never delivered after.
type router struct {
	cl     LogReader
	names  topics.Names
	logger *slog.Logger

	mu     sync.Mutex
	todo   []func()
	cancel context.CancelFunc // of the poll that runs

	boxes map[int32]*mailbox // the router's goroutine only
}

func newRouter(c Cluster, names topics.Names, logger *slog.Logger) (*router, error) {
	cl, err := c.Logs()
	if err != nil {
		return nil, err
	}
	return &router{cl: cl, names: names, logger: logger, boxes: map[int32]*mailbox{}}, nil
}

func (r *router) topic(s events.Source) string {
	if s == events.FromInbox {
		return r.names.Inbox()
	}
	return r.names.Commands()
}

// run polls until ctx ends.
func (r *router) run(ctx context.Context) {
	for ctx.Err() == nil {
		poll, stop := context.WithCancel(ctx)
		r.mu.Lock()
		todo := r.todo
		r.todo, r.cancel = nil, stop
		r.mu.Unlock()
		for _, f := range todo {
			f()
		}
		fetches := r.cl.PollFetches(poll)
		stop()
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachError(r.failed)
		fetches.EachPartition(r.route)
	}
}

// do runs f in the router's goroutine.
func (r *router) do(f func()) {
	r.mu.Lock()
	r.todo = append(r.todo, f)
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
}

// start reads a partition's inputs from the given offsets for an owner.
func (r *router) start(p int32, box *mailbox, next [logs]int64) {
	r.do(func() {
		r.remove(p)
		r.boxes[p] = box
		add := map[string]map[int32]kgo.Offset{
			r.names.Queries(): {p: kgo.NewOffset().AfterMilli(time.Now().Add(-queriesLook).UnixMilli())},
		}
		for _, s := range inputs {
			add[r.topic(s)] = map[int32]kgo.Offset{p: kgo.NewOffset().At(next[s])}
		}
		r.cl.AddConsumePartitions(add)
	})
}

// stop ends the reading for an owner, unless another one has started since.
func (r *router) stop(p int32, box *mailbox) {
	r.do(func() {
		if r.boxes[p] == box {
			r.remove(p)
		}
	})
}

func (r *router) remove(p int32) {
	if r.boxes[p] == nil {
		return
	}
	delete(r.boxes, p)
	all := map[string][]int32{
		r.names.Queries(): {p}, r.names.Commands(): {p}, r.names.Inbox(): {p},
	}
	r.cl.RemoveConsumePartitions(all)
	r.cl.ResumeFetchPartitions(all)
}

// seek reads on at another offset; a marker tells the owner where the records
// from there begin.
func (r *router) seek(p int32, box *mailbox, s events.Source, offset int64) {
	r.do(func() {
		if r.boxes[p] != box {
			return
		}
		topic := r.topic(s)
		r.cl.RemoveConsumePartitions(map[string][]int32{topic: {p}})
		r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(offset)}})
		box.inputs(s, []*kgo.Record{{Offset: offset}})
	})
}

func (r *router) route(f kgo.FetchTopicPartition) {
	box := r.boxes[f.Partition]
	if box == nil || len(f.Records) == 0 {
		return
	}
	switch f.Topic {
	case r.names.Commands():
		box.inputs(events.FromCommands, f.Records)
	case r.names.Inbox():
		box.inputs(events.FromInbox, f.Records)
	case r.names.Queries():
		r.queries(box, f.Records)
	}
}

// queries hands questions over; one that cannot be read is nobody's any more.
func (r *router) queries(box *mailbox, records []*kgo.Record) {
	for _, rec := range records {
		if rec.Attrs.IsControl() {
			continue
		}
		q := &events.Query{}
		if err := wire.Unmarshal(rec.Value, q); err != nil {
			r.logger.Warn("a query cannot be read", "partition", rec.Partition, "offset", rec.Offset, "error", err)
			continue
		}
		box.put(func(b *Batch) { b.Queries = append(b.Queries, q) })
	}
}

// failed tells an owner that its input log is broken; what may pass by itself
// is kgo's to try again.
func (r *router) failed(topic string, p int32, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	box := r.boxes[p]
	if box == nil || !kafka.IsDataLoss(err) {
		r.logger.Warn("reading inputs", "topic", topic, "partition", p, "error", err)
		return
	}
	source := events.FromCommands
	if topic == r.names.Inbox() {
		source = events.FromInbox
	} else if topic == r.names.Queries() {
		return // kgo has no reset: the next owner starts behind
	}
	box.put(func(b *Batch) { b.Broken = append(b.Broken, Broken{source, err}) })
}
