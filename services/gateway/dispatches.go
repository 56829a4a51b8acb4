package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
)

// dispatchStates are the states of dispatch records, by which they are listed.
var dispatchStates = []delivery.State{delivery.Pending, delivery.Notified, delivery.Delivered, delivery.Failed}

func dispatchesRoute() route {
	return route{
		method: "GET", path: "/v1/partitions/{partition}/dispatches", name: "listDispatches", role: Operate,
		about: "The dispatch records of a partition: the oldest that are pending, the oldest that workers have, then the newest of those that have ended within 10 minutes, of which about 1,000 are kept. Each is the delivery of an attempt, and its request id the token of that.",
		query: []param{
			{"status", "only those that are pending, notified, delivered or failed"}, {"queue", "only those of a task queue"},
			{"limit", "records, at most 1000; 100 if it is not given"},
		},
		answers: []answer{{200, "as of now", List[delivery.Record]{}, ""}}, handle: (*Gateway).listDispatches,
	}
}

// listDispatches asks the planner that owns the partition.
func (g *Gateway) listDispatches(w http.ResponseWriter, r *http.Request) error {
	p, err := g.partitionOf(r)
	if err != nil {
		return err
	}
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	status := q.Get("status")
	if status != "" && !slices.Contains(dispatchStates, delivery.State(status)) {
		return refuseField("invalid_parameter", "status", fmt.Sprintf("want one of %v", dispatchStates))
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	body, err := g.requests.ReadAt(ctx, p, events.Query{
		Kind: events.DispatchesQuery, Workflow: events.PartitionWorkflow(p), Filter: status, Queue: q.Get("queue"), Limit: uint32(limit),
	})
	if err != nil {
		return err
	}
	all := List[delivery.Record]{Items: []delivery.Record{}}
	if err := json.Unmarshal(body, &all.Items); err != nil {
		return fmt.Errorf("decode the dispatch records of partition %d: %w", p, err)
	}
	return writeJSON(w, r, http.StatusOK, all)
}
