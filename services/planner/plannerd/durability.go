package plannerd

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/runtime"
)

// durability asks how the journal is replicated. A cluster that keeps its
// settings to itself is taken to promise the least.
func durability(ctx context.Context, cl *kgo.Client, set *topics.Set, l *slog.Logger) (*runtime.Durability, error) {
	list, err := kadm.NewClient(cl).ListTopics(ctx, set.Journal())
	if err != nil {
		return nil, fmt.Errorf("asking for the journal's replicas: %w", err)
	}
	r := &runtime.Replicated{RF: list[set.Journal()].Partitions.NumReplicas(), MinISR: 1}
	text, err := topicSetting(ctx, cl, set.Journal(), "min.insync.replicas")
	switch {
	case forbidden(err):
		l.Warn("the journal's min.insync.replicas is not known and told as 1", "topic", set.Journal(), "error", err)
		return &runtime.Durability{Replicated: r}, nil
	case err != nil:
		return nil, err
	}
	if r.MinISR, err = strconv.Atoi(text); err != nil {
		return nil, fmt.Errorf("min.insync.replicas of topic %s: %w", set.Journal(), err)
	}
	return &runtime.Durability{Replicated: r}, nil
}
