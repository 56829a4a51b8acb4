package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition"
)

// clients are a process's clients: a partition.Cluster over the model.
type clients struct{ n *node }

// Names implements partition.Cluster.
func (c clients) Names() (topics.Names, error) { return c.n.c.names, nil }

// Journals implements partition.Cluster.
func (c clients) Journals() (partition.Producer, error) {
	return &producer{n: c.n, name: "journal", strict: true}, nil
}

// Effects implements partition.Cluster.
func (c clients) Effects() (partition.Producer, error) {
	return &producer{n: c.n, name: "effect"}, nil
}

// Summaries implements partition.Cluster.
func (c clients) Summaries() (partition.Producer, error) {
	return &producer{n: c.n, name: "summary"}, nil
}

// Logs implements partition.Cluster.
//
// The first reader of a process is the one that is always there. What others read
// under the same name is a stream of its own: it does not wait behind that one.
func (c clients) Logs() (partition.LogReader, error) {
	r := &reader{n: c.n, stream: "poll", at: map[place]*cursor{}, ids: map[string][16]byte{}}
	if c.n.reads.Swap(true) {
		r.stream = "poll a range"
	}
	return r, nil
}

// Admin implements partition.Cluster.
func (c clients) Admin() (partition.Admin, error) { return admin(c), nil }

// Txn implements partition.Cluster.
func (c clients) Txn(p int32) (partition.Txn, error) {
	return &txn{n: c.n, id: c.n.c.names.PlannerTxn(p)}, nil
}

// Source implements partition.Cluster.
func (c clients) Source() (journal.Source, error) { return source{admin(c)}, nil }

// LearnLimit implements partition.Cluster: the limits stay what they are.
func (c clients) LearnLimit(_ context.Context, topic string) (int32, bool, error) {
	return int32(c.n.c.topics[topic].max), false, nil
}

// source is a journal.Source.
type source struct{ admin }

// OpenLog implements journal.Source.
func (s source) OpenLog() (journal.Log, error) {
	return &reader{n: s.n, stream: "poll the journal", at: map[place]*cursor{}, ids: map[string][16]byte{}}, nil
}

// admin is a partition.Admin.
type admin struct{ n *node }

// Close implements partition.Admin.
func (admin) Close() {}

func (a admin) list(ctx context.Context, what string, names []string, which which, ms int64) (kadm.ListedOffsets, error) {
	out := kadm.ListedOffsets{}
	err := a.n.ask(ctx, what+"/"+names[0], question, nil, func() error {
		for _, name := range names {
			if a.n.c.topics[name] == nil {
				return kerr.UnknownTopicOrPartition
			}
			out[name] = map[int32]kadm.ListedOffset{}
			for p, offset := range a.n.c.brokers.offsets(name, which, ms) {
				at := place{name, int32(p)}
				out[name][at.partition] = kadm.ListedOffset{Topic: name, Partition: at.partition, Offset: offset, LeaderEpoch: a.n.c.brokers.epoch(at)}
			}
			if which == starts && a.n.c.looked != nil {
				a.n.c.looked(name)
			}
		}
		return nil
	}, what)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListStartOffsets implements partition.Admin.
func (a admin) ListStartOffsets(ctx context.Context, names ...string) (kadm.ListedOffsets, error) {
	return a.list(ctx, "starts", names, starts, 0)
}

// ListEndOffsets implements partition.Admin.
func (a admin) ListEndOffsets(ctx context.Context, names ...string) (kadm.ListedOffsets, error) {
	return a.list(ctx, "ends", names, ends, 0)
}

// ListCommittedOffsets implements partition.Admin.
func (a admin) ListCommittedOffsets(ctx context.Context, names ...string) (kadm.ListedOffsets, error) {
	return a.list(ctx, "stable ends", names, stable, 0)
}

// ListOffsetsAfterMilli implements partition.Admin.
func (a admin) ListOffsetsAfterMilli(ctx context.Context, ms int64, names ...string) (kadm.ListedOffsets, error) {
	return a.list(ctx, "offsets by time", names, stampedAt, ms)
}

// FetchOffsets implements partition.Admin.
func (a admin) FetchOffsets(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	out := kadm.OffsetResponses{}
	err := a.n.ask(ctx, "offsets/"+group, question, nil, func() error {
		a.n.w.noteLook(ctx, a.n, group)
		a.n.w.cursors.asked(a.n, group, who(ctx))
		for at, offset := range a.n.c.brokers.committed(group) {
			if out[at.topic] == nil {
				out[at.topic] = map[int32]kadm.OffsetResponse{}
			}
			out[at.topic][at.partition] = kadm.OffsetResponse{Offset: kadm.Offset{Topic: at.topic, Partition: at.partition, At: offset}}
		}
		return nil
	}, "committed offsets")
	return out, err
}

// Metadata implements partition.Admin.
func (a admin) Metadata(ctx context.Context, names ...string) (kadm.Metadata, error) {
	m := kadm.Metadata{Cluster: "simulated", Topics: kadm.TopicDetails{}}
	err := a.n.ask(ctx, "metadata", question, nil, func() error {
		for name, t := range a.n.c.topics {
			if len(names) > 0 && !slices.Contains(names, name) {
				continue
			}
			d := kadm.TopicDetail{Topic: name, ID: t.id, Partitions: kadm.PartitionDetails{}}
			for p := range t.partitions {
				d.Partitions[p] = kadm.PartitionDetail{Topic: name, Partition: p, Leader: a.n.c.clocks.leader(p)}
			}
			m.Topics[name] = d
		}
		return nil
	}, "metadata")
	return m, err
}

// DeleteRecords implements partition.Admin. A request may arrive long after its
// sender has ended.
func (a admin) DeleteRecords(ctx context.Context, below kadm.Offsets) (kadm.DeleteRecordsResponses, error) {
	out := kadm.DeleteRecordsResponses{}
	for _, o := range below.Sorted() {
		at := place{o.Topic, o.Partition}
		err := a.n.ask(ctx, "trim", txnStep, nil, func() error {
			if o.At < a.n.c.offset(at, starts) || o.At > a.n.c.offset(at, ends) {
				return kerr.OffsetOutOfRange
			}
			a.n.trims(at, o.At)
			a.n.c.trim(at, o.At)
			return nil
		}, fmt.Sprintf("deletes %s below %d", at, o.At))
		if out[o.Topic] == nil {
			out[o.Topic] = map[int32]kadm.DeleteRecordsResponse{}
		}
		out[o.Topic][o.Partition] = kadm.DeleteRecordsResponse{Topic: o.Topic, Partition: o.Partition, LowWatermark: o.At, Err: err}
	}
	return out, nil
}

// reader is a partition.LogReader.
type reader struct {
	n      *node
	stream string
	at     map[place]*cursor   // the cluster's lock guards it, and ids
	ids    map[string][16]byte // of the topics that it has read, until they are purged
	closed bool
}

// cursor is how far a reader has read a log.
type cursor struct {
	next   int64
	epoch  int32 // of the log when the reader began
	paused bool
}

// AddConsumePartitions implements partition.LogReader.
func (r *reader) AddConsumePartitions(partitions map[string]map[int32]kgo.Offset) {
	r.n.c.mu.Lock()
	defer r.n.c.mu.Unlock()
	for topic, parts := range partitions {
		if _, known := r.ids[topic]; !known {
			r.ids[topic] = r.n.c.topics[topic].id
		}
		for p, offset := range parts {
			at, next := place{topic, p}, offset.EpochOffset().Offset
			if topic == r.n.c.names.Queries() { // asked for by time
				next = r.n.c.brokers.offsets(topic, stampedAt, next)[p]
			}
			r.at[at] = &cursor{next: next, epoch: r.n.c.brokers.epoch(at)}
		}
	}
}

// RemoveConsumePartitions implements partition.LogReader.
func (r *reader) RemoveConsumePartitions(partitions map[string][]int32) {
	r.each(partitions, func(at place) { delete(r.at, at) })
}

// PurgeTopicsFromConsuming implements partition.LogReader.
func (r *reader) PurgeTopicsFromConsuming(topics ...string) {
	r.n.c.mu.Lock()
	defer r.n.c.mu.Unlock()
	for _, topic := range topics {
		delete(r.ids, topic)
		maps.DeleteFunc(r.at, func(at place, _ *cursor) bool { return at.topic == topic })
	}
}

// remade reports whether a topic is not the one that the reader knows.
func (r *reader) remade(topic string) bool { return r.ids[topic] != r.n.c.topics[topic].id }

// PauseFetchPartitions implements partition.LogReader.
func (r *reader) PauseFetchPartitions(partitions map[string][]int32) map[string][]int32 {
	r.each(partitions, func(at place) { r.pause(at, true) })
	return nil
}

// ResumeFetchPartitions implements partition.LogReader.
func (r *reader) ResumeFetchPartitions(partitions map[string][]int32) {
	r.each(partitions, func(at place) { r.pause(at, false) })
}

func (r *reader) pause(at place, paused bool) {
	if c := r.at[at]; c != nil {
		c.paused = paused
	}
}

func (r *reader) each(partitions map[string][]int32, f func(place)) {
	r.n.c.mu.Lock()
	defer r.n.c.mu.Unlock()
	for topic, parts := range partitions {
		for _, p := range parts {
			f(place{topic, p})
		}
	}
}

// Close implements partition.LogReader.
func (r *reader) Close() {
	r.n.c.mu.Lock()
	r.closed = true
	r.n.c.mu.Unlock()
}

// PollFetches implements partition.LogReader.
func (r *reader) PollFetches(ctx context.Context) kgo.Fetches {
	var got kgo.Fetches
	err := r.n.ask(ctx, r.stream, fetching, func() bool { return r.closed || len(r.some()) > 0 }, func() error {
		got = r.fetch()
		return nil
	}, "poll")
	if err != nil {
		if errors.Is(err, errDead) { // nothing is read, and nobody spins
			<-ctx.Done()
		}
		return kgo.NewErrFetch(ctx.Err())
	}
	return got
}

// some are the places that have something to read, in order.
func (r *reader) some() []place {
	var all []place
	for at, cur := range r.at {
		if cur.paused || r.n.deaf[at] {
			continue
		}
		if r.remade(at.topic) || r.n.c.brokers.readable(at, cur.next, cur.epoch) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, comparePlaces)
	return all
}

// fetch reads from one of the places that have something.
func (r *reader) fetch() kgo.Fetches {
	all := r.some()
	if r.closed || len(all) == 0 {
		return kgo.NewErrFetch(kgo.ErrClientClosed)
	}
	at := all[r.n.c.rng.IntN(len(all))]
	cur := r.at[at]
	if r.remade(at.topic) {
		return fetched(at, kgo.FetchPartition{Partition: at.partition, Err: kerr.UnknownTopicID})
	}
	if err := r.n.misread(at); err != nil {
		return fetched(at, kgo.FetchPartition{Partition: at.partition, Err: err})
	}
	most := 1 << 20
	if r.n.c.rng.IntN(3) == 0 {
		most = 1 + r.n.c.rng.IntN(4)
	}
	records, next, err := r.n.c.brokers.fetch(at, cur.next, cur.epoch, most)
	cur.next = next
	return fetched(at, kgo.FetchPartition{Partition: at.partition, Records: records, Err: err})
}

func fetched(at place, part kgo.FetchPartition) kgo.Fetches {
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: at.topic, Partitions: []kgo.FetchPartition{part}}}}}
}

// producer is a partition.Producer.
type producer struct {
	n       *node
	name    string
	strict  bool  // of journals: it stops for good on data loss
	stopped error // the cluster's lock guards it
	blind   int   // of the next writes that happen, the client learns no offset; so too
}

// Produce implements partition.Producer. Records of one key keep their order,
// those of the journal all of them.
func (p *producer) Produce(ctx context.Context, rec *kgo.Record, done func(*kgo.Record, error)) {
	p.n.c.mu.Lock()
	defer p.n.c.mu.Unlock()
	if p.n.dead {
		return // nothing comes of it
	}
	name := p.n.name + "/" + who(ctx) + "/" + p.name + "/" + rec.Topic
	if !p.strict { // of one key only
		name += "/" + string(rec.Key)
	}
	o := &op{what: "write", ctx: ctx}
	o.exec = func() error {
		if p.stopped != nil {
			return p.stopped
		}
		err := p.n.c.write(rec)
		if p.blind > 0 { // sent twice, as its acknowledgement was lost: DUPLICATE_SEQUENCE_NUMBER
			p.blind--
			rec.Offset = -1
		}
		return err
	}
	o.done = func(err error) { done(rec, err) }
	p.n.c.add(p.n, name, sending, o)
	if p.strict {
		p.n.c.streams[name].journal = p
	}
}

// Close implements partition.Producer.
func (p *producer) Close() {}
