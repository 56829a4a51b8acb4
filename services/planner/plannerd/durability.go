package plannerd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/snapshot"
)

// durability asks how the journal is replicated.
func durability(ctx context.Context, cl *kgo.Client, set *topics.Set) (*snapshot.Durability, error) {
	adm := kadm.NewClient(cl)
	list, err := adm.ListTopics(ctx, set.Journal())
	if err != nil {
		return nil, fmt.Errorf("asking for the journal's replicas: %w", err)
	}
	configs, err := adm.DescribeTopicConfigs(ctx, set.Journal())
	if err != nil {
		return nil, fmt.Errorf("asking for the journal's settings: %w", err)
	}
	r := &snapshot.Replicated{RF: list[set.Journal()].Partitions.NumReplicas(), MinISR: 1}
	for _, c := range configs {
		for _, kv := range c.Configs {
			if kv.Key != "min.insync.replicas" {
				continue
			}
			if r.MinISR, err = strconv.Atoi(kv.MaybeValue()); err != nil {
				return nil, fmt.Errorf("min.insync.replicas of the journal: %w", err)
			}
		}
	}
	return &snapshot.Durability{Replicated: r}, nil
}
