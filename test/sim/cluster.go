package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// cluster is a Kafka cluster as its clients see it: brokers, the planner group,
// and the operations of clients that wait for the scheduler. Only the scheduler
// asks the brokers; clients register operations.
type cluster struct {
	mu         sync.Mutex
	names      topics.Names
	partitions int32
	topics     map[string]*topic
	made       int // topics, those that are gone among them
	brokers    brokers
	commits    map[string]int // of transactions, by transactional id
	group      group
	absence    absence // of its coordinator
	clocks     brokerClocks
	streams    map[string]*stream
	active     []*stream  // by name: those with operations, and others that have had some
	rng        *rand.Rand // of the scheduler

	wrote   func(rec *kgo.Record, p int32, offset int64) // is told of every record
	looked  func(topic string)                           // is told, if not nil, when somebody has been told where the logs of a topic begin
	workers map[string]string                            // the groups of queues' workers, by topic
	trimmed map[place][]*kgo.Record                      // what was deleted because nobody needs it, as far as it was visible
}

// topic is one topic of a cluster.
type topic struct {
	name       string
	id         [16]byte
	partitions int32
	max        int  // bytes of a record
	stamped    bool // by the broker
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

func placeOf(rec *kgo.Record) place { return place{rec.Topic, rec.Partition} }

func (p place) String() string { return fmt.Sprintf("%s/%d", p.topic, p.partition) }

// group is the planner group.
type group struct {
	generation int32
	members    map[string]bool
}

const (
	repliesPartitions = 2
	queuePartitions   = 2

	smallRecord = 24 << 10 // bytes of a record of most topics
	largeRecord = 64 << 10 // of journal and state
)

var queues = []string{topics.DefaultQueue, "orders"}

// newCluster is a cluster without brokers.
func newCluster(partitions int32, rng *rand.Rand) *cluster {
	names, err := topics.NewNames("")
	if err != nil {
		panic(err)
	}
	c := &cluster{
		names: names, partitions: partitions, rng: rng, topics: map[string]*topic{}, commits: map[string]int{},
		absence: absence{renewals: map[int32]int{}}, clocks: brokerClocks{strays: map[int32]bool{}},
		group: group{members: map[string]bool{}}, streams: map[string]*stream{}, workers: map[string]string{}, trimmed: map[place][]*kgo.Record{},
	}
	for _, name := range []string{names.Status(), names.TaskControl(), names.DLQ(), names.Queries(), names.Authority()} {
		c.topic(name, partitions, smallRecord)
	}
	for _, name := range []string{names.Commands(), names.Inbox()} {
		c.topic(name, partitions, smallRecord).stamped = true
	}
	c.topic(workload.NoticesTopic, partitions, smallRecord)
	c.topic(names.Journal(), partitions, largeRecord)
	c.topic(names.State(), partitions, largeRecord)
	c.topic(names.Replies(), repliesPartitions, largeRecord)
	for _, q := range queues {
		c.topic(names.Tasks(q), queuePartitions, smallRecord)
		c.workers[names.Tasks(q)] = names.QueueGroup(q)
	}
	return c
}

func (c *cluster) topic(name string, partitions int32, most int) *topic {
	t := &topic{name: name, max: most, partitions: partitions}
	c.topics[name] = t
	c.identify(t)
	return t
}

// identify gives a topic an id that no other has or had.
func (c *cluster) identify(t *topic) {
	c.made++
	copy(t.id[:], fmt.Sprintf("%016d", c.made))
}

// remake deletes a topic and makes it anew.
func (c *cluster) remake(t *topic) {
	maps.DeleteFunc(c.trimmed, func(at place, _ []*kgo.Record) bool { return at.topic == t.name })
	c.brokers.remake(t)
	c.identify(t)
}

// place finds where a record belongs, and refuses one that is too large, as
// clients do that know the topics' limits.
func (c *cluster) place(rec *kgo.Record) error {
	t := c.topics[rec.Topic]
	if t == nil {
		panic("sim: there is no topic " + rec.Topic)
	}
	if rec.Partition == kafka.ByKey {
		rec.Partition = kafka.PartitionFor(rec.Key, t.partitions)
	}
	if size(rec) > t.max {
		rec.Offset = -1
		return kerr.MessageTooLarge
	}
	return nil
}

// write writes a record outside of transactions.
func (c *cluster) write(rec *kgo.Record) error {
	if err := c.place(rec); err != nil {
		return err
	}
	offset, err := c.brokers.append(rec)
	rec.Offset = offset
	if err == nil {
		c.wrote(rec, rec.Partition, offset)
	}
	return err
}

// produce writes records in a transaction, up to the first that is refused.
func (c *cluster) produce(s *session, recs []*kgo.Record) error {
	var refused error
	for i, rec := range recs {
		if refused = c.place(rec); refused != nil {
			recs = recs[:i]
			break
		}
	}
	if err := c.brokers.produce(s, recs); err != nil {
		return err
	}
	for _, rec := range recs {
		c.wrote(rec, rec.Partition, rec.Offset)
	}
	return refused
}

// finish ends a transaction.
func (c *cluster) finish(s *session, commit bool) error {
	err := c.brokers.finish(s, commit)
	if err == nil && commit {
		c.commits[s.id]++
	}
	return err
}

// member refuses positions that are committed in the name of no member.
func (c *cluster) member(commit *kafka.Commit) error {
	if !c.group.members[commit.Member] {
		return kerr.UnknownMemberID
	}
	if commit.Generation != c.group.generation {
		return kerr.IllegalGeneration
	}
	return nil
}

func size(rec *kgo.Record) int {
	n := len(rec.Key) + len(rec.Value)
	for _, h := range rec.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// offset is one of a log.
func (c *cluster) offset(at place, which which) int64 {
	return c.brokers.offsets(at.topic, which, 0)[at.partition]
}

// record is one of a log without transactions.
func (c *cluster) record(at place, offset int64) *kgo.Record { return c.records(at, offset, 1)[0] }

// records are those of a log without transactions from one on, at most so many.
func (c *cluster) records(at place, offset int64, most int) []*kgo.Record {
	recs, _, err := c.brokers.fetch(at, offset, c.brokers.epoch(at), most)
	if err != nil || len(recs) == 0 {
		panic(fmt.Sprintf("sim: there is no record %s@%d: %v", at, offset, err))
	}
	return recs
}

// trim deletes the oldest records of a log that nobody needs.
func (c *cluster) trim(at place, to int64) {
	var gone []*kgo.Record
	for _, rec := range c.visible(at) {
		if rec.Offset < to {
			gone = append(gone, rec)
		}
	}
	c.trimmed[at] = gone
	c.brokers.expire(at, to)
}

// visible are all records of a log that a read-committed reader sees, or saw before
// they were trimmed.
func (c *cluster) visible(at place) []*kgo.Record {
	all := slices.Clone(c.trimmed[at])
	epoch := c.brokers.epoch(at)
	for next := c.offset(at, starts); c.brokers.readable(at, next, epoch); {
		recs, end, err := c.brokers.fetch(at, next, epoch, 1<<20)
		if err != nil {
			panic(fmt.Sprintf("sim: reading %s from %d on: %v", at, next, err))
		}
		for _, rec := range recs {
			if !rec.Attrs.IsControl() {
				all = append(all, rec)
			}
		}
		next = end
	}
	return all
}
