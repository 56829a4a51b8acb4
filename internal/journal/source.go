package journal

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// Source is the cluster that a Reader reads from.
type Source interface {
	Offsets
	// OpenLog makes a client for one reading, which closes it.
	OpenLog() (Log, error)
	Close()
}

// Offsets answers questions about the places in logs; *kadm.Client does.
type Offsets interface {
	ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListOffsetsAfterMilli(ctx context.Context, ms int64, topics ...string) (kadm.ListedOffsets, error)
}

// Log reads the partitions that it is given, committed records and the control records of
// transactions; a *kgo.Client of kafka.NewLogReader does.
type Log interface {
	AddConsumePartitions(partitions map[string]map[int32]kgo.Offset)
	PollFetches(ctx context.Context) kgo.Fetches
	Close()
}

// kafkaSource is a Source over the clients of a Kafka cluster.
type kafkaSource struct {
	Offsets
	config kafka.Config
	admin  *kgo.Client
}

// NewSource makes the Source of a Kafka cluster.
func NewSource(c kafka.Config) (Source, error) {
	admin, err := kafka.NewAdmin(c)
	if err != nil {
		return nil, err
	}
	return &kafkaSource{kadm.NewClient(admin), c, admin}, nil
}

// OpenLog implements Source.
func (s *kafkaSource) OpenLog() (Log, error) { return kafka.NewLogReader(s.config) }

// Close implements Source.
func (s *kafkaSource) Close() { s.admin.Close() }
