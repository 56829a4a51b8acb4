package client

import (
	"context"
	"fmt"

	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
)

// What a dispatch record consists of.
type (
	// Dispatch is the dispatch record of a delivery: of the handing of an attempt to a worker.
	Dispatch = delivery.Record
	// DispatchStatus is what a delivery has come to.
	DispatchStatus = delivery.State
	// DispatchMetadata says whose delivery it is.
	DispatchMetadata = delivery.Metadata
)

// The states of a delivery.
const (
	DispatchPending   = delivery.Pending   // nobody has the work yet
	DispatchNotified  = delivery.Notified  // a worker has it
	DispatchDelivered = delivery.Delivered // its outcome was applied
	DispatchFailed    = delivery.Failed    // it can never be delivered, or nobody knows what became of it
)

// DispatchFilter says which dispatch records are asked for.
type DispatchFilter struct {
	Status DispatchStatus // empty: any
	Queue  string         // a task queue; empty: any
	Limit  int            // at most 1,000; 0: 100
}

// Dispatches are dispatch records of a partition, a consistent read: the oldest that are pending, the oldest that workers
// have, then the newest of those that have ended within 10 minutes, of which about 1,000 are kept.
func (c *Client) Dispatches(ctx context.Context, partition int32, f DispatchFilter) ([]Dispatch, error) {
	raw, err := c.t.Query(ctx, Query{
		Kind: events.DispatchesQuery, Workflow: events.PartitionWorkflow(partition), Status: string(f.Status), Queue: f.Queue, Limit: f.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("dispatches of partition %d: %w", partition, err)
	}
	list, err := decode[struct{ Items []Dispatch }]("dispatches", raw)
	return list.Items, err
}

// RemoveDispatches removes dispatch records of a partition that have ended, by their request ids: all of them, or none
// if one is unknown, is named twice, or has not ended. The ids stay used. by needs both who and why. It
// reports what ReleasePartition does.
func (c *Client) RemoveDispatches(ctx context.Context, partition int32, ids []string, by By) (obeyed bool, err error) {
	return c.operate(ctx, "remove_dispatch", partition, struct {
		IDs []string `json:"ids"`
		By
	}{ids, by})
}
