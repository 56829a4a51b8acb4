package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// prepare makes the topic of the queue that the steps use, if the deployment
// does not have it.
func (t Target) prepare(ctx context.Context) error {
	admin, err := kafka.NewAdmin(kafka.Config{Brokers: t.Brokers, Prefix: t.Prefix, Security: t.Security, ClientID: "heddle-bench"})
	if err != nil {
		return err
	}
	defer admin.Close()
	set, err := topics.Default().Discover(ctx, admin, t.Prefix)
	if err != nil {
		return fmt.Errorf("finding the deployment: %w", err)
	}
	if slices.Contains(set.Queues(), Queue) {
		return nil
	}
	return set.AddQueue(ctx, admin, Queue)
}
