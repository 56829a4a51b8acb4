package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// cluster is the model of a Kafka cluster: logs, transactions, offsets of
// groups, and the operations of clients that wait for the scheduler. Only the
// scheduler changes logs; clients register operations.
type cluster struct {
	mu         sync.Mutex
	names      topics.Names
	partitions int32
	topics     map[string]*topic
	txns       map[string]*coordinator
	offsets    map[string]map[place]int64 // of groups
	group      group
	streams    map[string]*stream
	rng        *rand.Rand // of the scheduler

	wrote func(rec *kgo.Record, p int32, offset int64) // is told of every record
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

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

func newCluster(partitions int32, rng *rand.Rand) *cluster {
	names, err := topics.NewNames("")
	if err != nil {
		panic(err)
	}
	c := &cluster{
		names: names, partitions: partitions, rng: rng, topics: map[string]*topic{}, txns: map[string]*coordinator{},
		offsets: map[string]map[place]int64{}, group: group{members: map[string]bool{}}, streams: map[string]*stream{},
	}
	for _, name := range []string{names.Status(), names.TaskControl(), names.DLQ(), names.Queries(), names.Authority()} {
		c.topic(name, partitions, smallRecord)
	}
	for _, name := range []string{names.Commands(), names.Inbox()} {
		c.topic(name, partitions, smallRecord).stamped = true
	}
	c.topic(names.Journal(), partitions, largeRecord)
	c.topic(names.State(), partitions, largeRecord)
	c.topic(names.Replies(), repliesPartitions, largeRecord)
	for _, q := range queues {
		c.topic(names.Tasks(q), queuePartitions, smallRecord)
	}
	return c
}

func (c *cluster) topic(name string, partitions int32, most int) *topic {
	t := &topic{name: name, max: most}
	copy(t.id[:], fmt.Sprintf("%016d", len(c.topics)+1))
	for range partitions {
		t.logs = append(t.logs, &log{})
	}
	c.topics[name] = t
	return t
}

func (c *cluster) log(topic string, p int32) *log {
	if t := c.topics[topic]; t != nil && int(p) < len(t.logs) && p >= 0 {
		return t.logs[p]
	}
	panic(fmt.Sprintf("sim: there is no partition %d of %s", p, topic))
}

// place finds where a record belongs.
func (c *cluster) place(rec *kgo.Record) (*topic, int32) {
	t := c.topics[rec.Topic]
	if t == nil {
		panic("sim: there is no topic " + rec.Topic)
	}
	if rec.Partition == kafka.ByKey {
		return t, kafka.PartitionFor(rec.Key, int32(len(t.logs)))
	}
	return t, rec.Partition
}

// write appends a record, or refuses it.
func (c *cluster) write(rec *kgo.Record, txn *transaction) (int32, int64, error) {
	t, p := c.place(rec)
	if size(rec) > t.max {
		return p, -1, kerr.MessageTooLarge
	}
	l := c.log(t.name, p)
	if txn != nil && !txn.in(l) {
		txn.logs = append(txn.logs, l)
	}
	offset := l.append(t, p, rec, txn, time.Now())
	c.wrote(rec, p, offset)
	return p, offset, nil
}

func (t *transaction) in(l *log) bool {
	for _, at := range t.logs {
		if at == l {
			return true
		}
	}
	return false
}

func size(rec *kgo.Record) int {
	n := len(rec.Key) + len(rec.Value)
	for _, h := range rec.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// commit notes the position of a group.
func (c *cluster) commit(group string, at place, offset int64) {
	if c.offsets[group] == nil {
		c.offsets[group] = map[place]int64{}
	}
	c.offsets[group][at] = offset
}
