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
