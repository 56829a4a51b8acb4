package client

import (
	"context"
	"fmt"

	"github.com/heddle-run/heddle/internal/runtime"
)

// Readiness is whether each planner partition is ready, and why not, as the readiness
// service has published it.
type Readiness = runtime.Aggregate

// What a Readiness consists of.
type (
	// Partition is one planner partition: its number, the Snapshot of it, and its newest checkpoint.
	Partition = runtime.Partition
	// Snapshot is what is known of a partition.
	Snapshot = runtime.Snapshot
	// PartitionReadiness is whether a partition is served, and why not.
	PartitionReadiness = runtime.Readiness
	// Authority is the lease of a partition: who owns it, and until when.
	Authority = runtime.Authority
	// Backlog counts the open attempts of a partition.
	Backlog = runtime.Backlog
	// QueueBacklog counts those of one task queue.
	QueueBacklog = runtime.QueueBacklog
	// PoolBacklog counts the runners of a pool, their slots and the attempts that wait for one.
	PoolBacklog = runtime.PoolBacklog
	// Queue counts the open attempts of a task queue over all partitions.
	Queue = runtime.Queue
	// QueueShare counts those of one partition.
	QueueShare = runtime.QueueShare
	// Replay is how far a partition is behind its logs.
	Replay = runtime.Replay
	// PartitionCheckpoint is when a partition was last written to the changelog.
	PartitionCheckpoint = runtime.Checkpoint
	// Durability is where a partition's state is kept.
	Durability = runtime.Durability
	// Replicated is Kafka's own durability.
	Replicated = runtime.Replicated
)

// Readiness is that of the deployment. It is the gateway's: not over Kafka.
func (c *Client) Readiness(ctx context.Context) (*Readiness, error) {
	raw, err := c.t.Readiness(ctx)
	if err != nil {
		return nil, fmt.Errorf("readiness: %w", err)
	}
	return decode[*Readiness]("readiness", raw)
}

// Queues are the task queues with open attempts, by name: how many attempts wait for a worker, since when the oldest does, and
// how many run. Partitions publish them about once a second, each of at most 64 queues: those first whose
// oldest pending attempt waits longest. It is the gateway's: not over Kafka.
func (c *Client) Queues(ctx context.Context) ([]Queue, error) {
	all, err := c.Readiness(ctx)
	if err != nil {
		return nil, err
	}
	if len(all.Partitions) == 0 && len(all.Reasons) > 0 { // nobody has published any
		return nil, &Error{Code: ErrUnavailable.Code, Message: all.Reasons[0]}
	}
	return all.Queues(), nil
}
