package topics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/policy"
)

// Options choose a deployment.
type Options struct {
	Prefix          string   // empty: the prefix of topics.yaml
	Partitions      int32    // N; zero: the default of topics.yaml
	QueuePartitions int32    // of task queues; zero: N
	Replication     int16    // zero: as many as there are brokers, at most the factor of topics.yaml
	Queues          []string // task queues besides the default one
}

// Set is the topics of one deployment.
type Set struct {
	Names
	spec    *Spec
	options Options
	queues  []string // sorted, the default one included
}

// Topic is one topic as it should be.
type Topic struct {
	Name       string
	About      string
	Key        string
	Partitions int32
	Compacted  bool
	MaxBytes   int32             // the largest record batch
	Configs    map[string]string // Kafka's topic settings, without min.insync.replicas
	Readers    []string
	Writers    []string
}

// Set resolves the spec for one deployment.
func (s *Spec) Set(o Options) (*Set, error) {
	if o.Prefix == "" {
		o.Prefix = s.Prefix
	}
	if o.Partitions == 0 {
		o.Partitions = s.Partitions
	}
	if o.QueuePartitions == 0 {
		o.QueuePartitions = o.Partitions
	}
	if o.Partitions < 0 || o.QueuePartitions < 0 || o.Replication < 0 {
		return nil, fmt.Errorf("topics: negative counts: %d partitions, %d per queue, %d replicas", o.Partitions, o.QueuePartitions, o.Replication)
	}
	if most := max(o.Partitions, o.QueuePartitions); most > MaxPartitions {
		return nil, fmt.Errorf("topics: %d partitions, the limit is %d", most, MaxPartitions)
	}
	names, err := NewNames(o.Prefix)
	if err != nil {
		return nil, err
	}
	queues := append([]string{DefaultQueue}, o.Queues...)
	slices.Sort(queues)
	queues = slices.Compact(queues)
	for _, q := range queues {
		if err := policy.CheckQueue(q); err != nil {
			return nil, err
		}
	}
	return &Set{Names: names, spec: s, options: o, queues: queues}, nil
}

// Partitions is N, the partition count of every topic keyed by workflow ID.
func (s *Set) Partitions() int32 { return s.options.Partitions }

// Queues are the task queues, sorted; the default one is among them.
func (s *Set) Queues() []string { return slices.Clone(s.queues) }

// Desired are the topics as they should be, sorted by name.
func (s *Set) Desired() []Topic {
	var out []Topic
	for _, base := range slices.Sorted(maps.Keys(s.spec.topics)) {
		if base == tasksTemplate {
			for _, q := range s.queues {
				out = append(out, s.topic(s.Tasks(q), s.spec.topics[base]))
			}
			continue
		}
		out = append(out, s.topic(s.prefix+base, s.spec.topics[base]))
	}
	slices.SortFunc(out, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// MaxBytes is the largest record batch that the broker takes on a topic of the
// deployment, and for other topics Kafka's default. It suits
// kgo.ProducerBatchMaxBytesFn.
func (s *Set) MaxBytes(topic string) int32 { return s.spec.MaxBytes(s.Names, topic) }

// MaxBytes is the largest record batch on a topic under the given names.
func (s *Spec) MaxBytes(n Names, topic string) int32 {
	if t, ok := s.topics[n.base(topic)]; ok {
		return t.MaxMessage
	}
	return kafkaDefaultMaxBytes
}

// Group settings of one consumer group.
type Group struct {
	SessionTimeout time.Duration
	Heartbeat      time.Duration
}

// PlannerGroupSettings are the session settings of the planner group.
func (s *Spec) PlannerGroupSettings() Group { return s.group(plannerGroup) }

// ArchiverGroupSettings are the session settings of the archivers' group.
func (s *Spec) ArchiverGroupSettings() Group { return s.group(archiverGroup) }

// QueueGroupSettings are the session settings of every queue's group.
func (s *Spec) QueueGroupSettings() Group { return s.group(queueGroupTemplate) }

func (s *Spec) group(name string) Group {
	g := s.groups[name]
	return Group{SessionTimeout: g.SessionTimeout, Heartbeat: g.Heartbeat}
}

// kafkaDefaultMaxBytes is Kafka's default for max.message.bytes.
const kafkaDefaultMaxBytes = 1_048_588

func (s *Set) topic(name string, t topicSpec) Topic {
	out := Topic{
		Name: name, About: t.About, Key: t.Key, Compacted: t.Cleanup == compact,
		MaxBytes: t.MaxMessage, Readers: t.Readers, Writers: t.Writers,
		Partitions: t.Partitions.fixed,
		Configs: map[string]string{
			cleanupPolicy: t.Cleanup,
			maxMessage:    strconv.Itoa(int(t.MaxMessage)),
			timestampType: "CreateTime",
		},
	}
	switch t.Partitions.shared {
	case byWorkflow:
		out.Partitions = s.options.Partitions
	case byQueue:
		out.Partitions = s.options.QueuePartitions
	}
	if t.StampedBy == "broker" {
		out.Configs[timestampType] = "LogAppendTime"
	}
	retention := strconv.FormatInt(t.Retention.Milliseconds(), 10)
	switch {
	case t.ByOwner:
		out.Configs[retentionMs], out.Configs[retentionBytes] = forever, forever
	case out.Compacted:
		// Nothing but a newer value or a tombstone ends a compacted key. The
		// embedded broker would apply its default retention to it.
		out.Configs[retentionMs] = forever
		out.Configs[deleteRetentionMs] = retention
		t.compaction(out.Configs)
	default:
		out.Configs[retentionMs] = retention
	}
	return out
}

// compaction adds the settings by which a compacted topic stays as small as it is said
// to. A smallest lag that a cluster has by default would keep the largest from being.
func (t *topicSpec) compaction(configs map[string]string) {
	if t.Within == 0 {
		return
	}
	configs[segmentBytes] = strconv.Itoa(int(t.Segment))
	configs[segmentMs] = strconv.FormatInt(t.SegmentAge.Milliseconds(), 10)
	configs[maxLagMs] = strconv.FormatInt(t.Within.Milliseconds(), 10)
	configs[minLagMs] = "0"
}

// forever is the value of a retention that ends nothing.
const forever = "-1"

// Kafka's names of the settings that topics.yaml decides.
const (
	cleanupPolicy     = "cleanup.policy"
	retentionMs       = "retention.ms"
	retentionBytes    = "retention.bytes"
	deleteRetentionMs = "delete.retention.ms"
	maxMessage        = "max.message.bytes"
	timestampType     = "message.timestamp.type"
	minInsync         = "min.insync.replicas"
	segmentBytes      = "segment.bytes"
	segmentMs         = "segment.ms"
	maxLagMs          = "max.compaction.lag.ms"
	minLagMs          = "min.compaction.lag.ms"
)

// MaxPartitions bounds the partitions of a topic: each of a deployment has a store,
// a lease and a place in every read of whole topics.
const MaxPartitions = 4096
