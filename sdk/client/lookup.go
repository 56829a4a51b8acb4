package client

import (
	"context"
	"fmt"
)

// Place is where a workflow lives.
type Place struct {
	ID        string             `json:"id"`
	Partition int32              `json:"partition"`
	Owner     *Owner             `json:"owner"`     // nil: nobody is known to own the partition
	Readiness PartitionReadiness `json:"readiness"` // of the partition
}

// Lookup tells where a workflow lives: the partition of its ID, who owns that, and whether it is ready. Any gateway
// knows it without asking a planner, so it is told while all planners are gone, and of an ID that no workflow
// has. It is the gateway's: not over Kafka.
func (c *Client) Lookup(ctx context.Context, id string) (*Place, error) {
	raw, err := c.t.Query(ctx, Query{Kind: QueryLookup, Workflow: id})
	if err != nil {
		return nil, fmt.Errorf("lookup %s: %w", id, err)
	}
	return decode[*Place]("place", raw)
}

// QueryLookup is the kind of query that Lookup makes.
const QueryLookup = "lookup"
