package feed

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// queriesLook is how far back an owner that starts looks for queries.
const queriesLook = 30 * time.Second

// Router reads the input logs and queries of all partitions of a process with
// one client and hands each record to its owner. Everything that changes what
// is read happens in its goroutine, between two polls: what was fetched before
// is never delivered after.
type Router struct {
	cl     Reader
	names  topics.Names
	logger *slog.Logger
	stats  *loop.Stats

	oldTopics bool // a flaw

	mu     sync.Mutex
	todo   []change
	cancel context.CancelFunc // of the poll that runs

	// The router's goroutine only:
	now    []change // that are under way; the first is the one that is made
	boxes  map[int32]*Mailbox
	ids    map[int32]Identity      // what the owners take the topics for
	faults map[logPlace]*readFault // what cannot be read now
}

// Reader reads logs, with a client of Kafka.
type Reader interface {
	journal.Log
	RemoveConsumePartitions(partitions map[string][]int32)
	// PurgeTopicsFromConsuming takes topics out whole: one that is added again is
	// the one that there is then, which may be another one of the same name.
	PurgeTopicsFromConsuming(topics ...string)
	PauseFetchPartitions(partitions map[string][]int32) map[string][]int32
	ResumeFetchPartitions(partitions map[string][]int32)
}

// change is one of what is read.
type change struct {
	box *Mailbox // of the owner that waits for it; nil: none does
	do  func()
}

// NewRouter reads with a client that Close closes. oldTopics is a switch of the simulation: topics
// that were made anew are not noticed.
func NewRouter(cl Reader, names topics.Names, logger *slog.Logger, stats *loop.Stats, oldTopics bool) *Router {
	return &Router{cl: cl, names: names, logger: logger, stats: stats, boxes: map[int32]*Mailbox{}, ids: map[int32]Identity{}, faults: map[logPlace]*readFault{}, oldTopics: oldTopics}
}

// Topic is the topic of an input log.
func (r *Router) Topic(s events.Source) string {
	if s == events.FromInbox {
		return r.names.Inbox()
	}
	return r.names.Commands()
}

// Close closes the client; Run has ended.
func (r *Router) Close() { r.cl.Close() }

// Pause stops the fetching of a topic's partition.
func (r *Router) Pause(topic string, p int32) {
	r.cl.PauseFetchPartitions(map[string][]int32{topic: {p}})
}

// Resume fetches it again.
func (r *Router) Resume(topic string, p int32) {
	r.cl.ResumeFetchPartitions(map[string][]int32{topic: {p}})
}

// Run polls until ctx ends.
func (r *Router) Run(ctx context.Context) {
	for ctx.Err() == nil {
		fetches := r.poll(ctx)
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachError(r.failed)
		fetches.EachPartition(r.route)
	}
}

// poll makes the changes that are wanted, and fetches what there is then.
func (r *Router) poll(ctx context.Context) kgo.Fetches {
	poll, stop := r.nextPoll(ctx)
	defer stop()
	r.mu.Lock()
	r.now = append(r.now, r.todo...)
	r.todo, r.cancel = nil, stop
	r.mu.Unlock()
	for ; len(r.now) > 0; r.now = r.now[1:] {
		r.now[0].do()
	}
	r.now = nil
	r.tryFaults()
	return r.cl.PollFetches(poll)
}

// Interrupted ends the tenures of all who are read for, behind a defect: of what was
// fetched or changed then something may be missing. A reader that waits for a change that is
// still to be made gets it.
func (r *Router) Interrupted(err error) {
	err = fmt.Errorf("the reading of the input logs was interrupted: %w", err)
	end := func(box *Mailbox) { box.Do(func(p *loop.Processor) { p.Fail(err) }) }
	for _, box := range r.boxes { // order: each is told by itself
		end(box)
	}
	if len(r.now) > 0 {
		if box := r.now[0].box; box != nil {
			end(box)
		}
		r.now = r.now[1:]
	}
}

// do runs f in the router's goroutine, for the owner of a mailbox if there is one.
func (r *Router) do(box *Mailbox, f func()) {
	r.mu.Lock()
	r.todo = append(r.todo, change{box, f})
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
}

// Start reads a partition's inputs from the given offsets of the topics with the
// given ids for an owner.
func (r *Router) Start(p int32, box *Mailbox, id Identity, next [loop.Logs]int64) {
	r.do(box, func() {
		r.remove(p)
		r.boxes[p], r.ids[p] = box, id
		for _, s := range loop.Inputs {
			r.add(r.Topic(s), p, kgo.NewOffset().At(next[s]))
			if f := r.faults[logPlace{r.Topic(s), p}]; f != nil {
				r.tell(logPlace{r.Topic(s), p}, loop.Trouble{Why: f.why, Since: f.since})
			}
		}
		r.addQueries(p)
	})
}

func (r *Router) add(topic string, p int32, at kgo.Offset) {
	r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: at}})
}

// addQueries reads the questions that somebody may still wait for.
func (r *Router) addQueries(p int32) {
	r.add(r.names.Queries(), p, kgo.NewOffset().AfterMilli(time.Now().Add(-queriesLook).UnixMilli()))
}

// Stop ends the reading for an owner, unless another one has started since.
func (r *Router) Stop(p int32, box *Mailbox) {
	r.do(box, func() {
		if r.boxes[p] == box {
			r.remove(p)
		}
	})
}

func (r *Router) remove(p int32) {
	if r.boxes[p] == nil {
		return
	}
	all := map[string][]int32{
		r.names.Queries(): {p}, r.names.Commands(): {p}, r.names.Inbox(): {p},
	}
	r.cl.RemoveConsumePartitions(all)
	r.cl.ResumeFetchPartitions(all)
	delete(r.boxes, p) // not before: a defect in between leaves the removal to the next owner
	delete(r.ids, p)
	for topic := range all {
		r.settle(logPlace{topic, p})
	}
}

// Seek reads on at another offset; a marker tells the owner where the records
// from there begin.
func (r *Router) Seek(p int32, box *Mailbox, s events.Source, offset int64) {
	r.do(box, func() {
		if r.boxes[p] != box {
			return
		}
		topic := r.Topic(s)
		r.cl.RemoveConsumePartitions(map[string][]int32{topic: {p}})
		r.add(topic, p, kgo.NewOffset().At(offset))
		box.Inputs(s, []*kgo.Record{{Offset: offset}})
	})
}

func (r *Router) route(f kgo.FetchTopicPartition) {
	box := r.boxes[f.Partition]
	if box == nil || len(f.Records) == 0 {
		return
	}
	r.recovered(logPlace{f.Topic, f.Partition})
	switch f.Topic {
	case r.names.Commands():
		box.Inputs(events.FromCommands, f.Records)
	case r.names.Inbox():
		box.Inputs(events.FromInbox, f.Records)
	case r.names.Queries():
		r.queries(box, f.Records)
	}
}

// queries hands questions over; one that cannot be read is nobody's any more.
func (r *Router) queries(box *Mailbox, records []*kgo.Record) {
	for _, rec := range records {
		if rec.Attrs.IsControl() {
			continue
		}
		q := &events.Query{}
		// A defect that it brings out is its own: it is read again by each new owner.
		if err := defect.Caught(r.logger, r.stats, func() error { return wire.Unmarshal(rec.Value, q) }); err != nil {
			r.logger.Warn("a query cannot be read", "partition", rec.Partition, "offset", rec.Offset, "error", err)
			continue
		}
		box.Query(q)
	}
}
