package partition

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/feed"
)

// Cluster makes a Host's clients: of a Kafka cluster, or of a model of one. A caller that
// asks for a client closes it.
type Cluster interface {
	Names() (topics.Names, error)
	// Journals makes a producer that stops for good on data loss.
	Journals() (Producer, error)
	Effects() (Producer, error)
	Summaries() (Producer, error)
	Logs() (LogReader, error)
	Admin() (Admin, error)
	Txn(partition int32) (Txn, error)
	Source() (journal.Source, error)
	// LearnLimit finds out the largest batch of a topic that has refused one, which
	// clients that are made later heed, and whether that was news.
	LearnLimit(ctx context.Context, topic string) (limit int32, less bool, err error)
}

// Producer writes records in order and tells of each what became of it. No call
// blocks. A *kgo.Client does.
type Producer interface {
	Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error))
	Close()
}

// LogReader reads the partitions that it is given, from where it is told, and
// never moves by itself; a *kgo.Client of kafka.NewLogReader does.
type LogReader = feed.Reader

// Admin answers questions about logs, topics and groups, and deletes the oldest
// records of logs; *kadm.Client does.
type Admin interface {
	journal.Offsets
	FetchOffsets(ctx context.Context, group string) (kadm.OffsetResponses, error)
	Metadata(ctx context.Context, topics ...string) (kadm.Metadata, error)
	DeleteRecords(ctx context.Context, below kadm.Offsets) (kadm.DeleteRecordsResponses, error)
	Close()
}

// Txn is the right to write checkpoints and takeover records of a partition;
// *kafka.Txn says what each method promises.
type Txn interface {
	Fence(ctx context.Context) error
	Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error
	Close()
}

// kafkaCluster is a Kafka cluster.
type kafkaCluster struct{ kafka.Config }

// producer keeps a client that was not made from becoming one that is not nil.
func producer(cl *kgo.Client, err error) (Producer, error) {
	if err != nil {
		return nil, err
	}
	return cl, nil
}

// Journals implements Cluster.
func (c kafkaCluster) Journals() (Producer, error) {
	return producer(kafka.NewJournalProducer(c.Config))
}

// Effects implements Cluster.
func (c kafkaCluster) Effects() (Producer, error) {
	return producer(kafka.NewOutboxProducer(c.Config))
}

// Summaries implements Cluster.
func (c kafkaCluster) Summaries() (Producer, error) {
	return producer(kafka.NewSummaryProducer(c.Config))
}

// Logs implements Cluster.
func (c kafkaCluster) Logs() (LogReader, error) {
	cl, err := kafka.NewLogReader(c.Config)
	if err != nil {
		return nil, err
	}
	return cl, nil
}

// Admin implements Cluster.
func (c kafkaCluster) Admin() (Admin, error) {
	cl, err := kafka.NewAdmin(c.Config)
	if err != nil {
		return nil, err
	}
	return kadm.NewClient(cl), nil
}

// Txn implements Cluster.
func (c kafkaCluster) Txn(partition int32) (Txn, error) { return kafka.NewTxn(c.Config, partition) }

// Source implements Cluster.
func (c kafkaCluster) Source() (journal.Source, error) { return journal.NewSource(c.Config) }
