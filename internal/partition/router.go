package partition

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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

	oldTopics bool // a flaw

	mu     sync.Mutex
	todo   []func()
	cancel context.CancelFunc // of the poll that runs

	// The router's goroutine only:
	boxes  map[int32]*mailbox
	ids    map[int32]identity      // what the owners take the topics for
	faults map[logPlace]*readFault // what cannot be read now
}

func newRouter(c Cluster, names topics.Names, logger *slog.Logger) (*router, error) {
	cl, err := c.Logs()
	if err != nil {
		return nil, err
	}
	return &router{cl: cl, names: names, logger: logger, boxes: map[int32]*mailbox{}, ids: map[int32]identity{}, faults: map[logPlace]*readFault{}}, nil
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
		poll, stop := r.nextPoll(ctx)
		r.mu.Lock()
		todo := r.todo
		r.todo, r.cancel = nil, stop
		r.mu.Unlock()
		for _, f := range todo {
			f()
		}
		r.tryFaults()
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

// start reads a partition's inputs from the given offsets of the topics with the
// given ids for an owner.
func (r *router) start(p int32, box *mailbox, id identity, next [logs]int64) {
	r.do(func() {
		r.remove(p)
		r.boxes[p], r.ids[p] = box, id
		for _, s := range inputs {
			r.add(r.topic(s), p, kgo.NewOffset().At(next[s]))
		}
		r.addQueries(p)
	})
}

func (r *router) add(topic string, p int32, at kgo.Offset) {
	r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: at}})
}

// addQueries reads the questions that somebody may still wait for.
func (r *router) addQueries(p int32) {
	r.add(r.names.Queries(), p, kgo.NewOffset().AfterMilli(time.Now().Add(-queriesLook).UnixMilli()))
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
	delete(r.ids, p)
	all := map[string][]int32{
		r.names.Queries(): {p}, r.names.Commands(): {p}, r.names.Inbox(): {p},
	}
	r.cl.RemoveConsumePartitions(all)
	r.cl.ResumeFetchPartitions(all)
	for topic := range all {
		r.settle(logPlace{topic, p})
	}
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
		r.add(topic, p, kgo.NewOffset().At(offset))
		box.inputs(s, []*kgo.Record{{Offset: offset}})
	})
}

func (r *router) route(f kgo.FetchTopicPartition) {
	box := r.boxes[f.Partition]
	if box == nil || len(f.Records) == 0 {
		return
	}
	r.mended(logPlace{f.Topic, f.Partition})
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
		box.query(q)
	}
}
