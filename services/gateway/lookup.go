package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// lookupWorkflow tells where a workflow lives. No planner is asked: its partition follows from its ID, and the owner is the
// one that was published last. Whether there is such a workflow only its owner knows.
func (g *Gateway) lookupWorkflow(w http.ResponseWriter, r *http.Request) error {
	id, err := pathValue(r, "id")
	if err != nil {
		return err
	}
	if err := events.CheckWorkflowID(id); err != nil {
		return refuseField("invalid_workflow_id", "id", err.Error())
	}
	p := kafka.PartitionFor([]byte(id), g.follow.partitions)
	is, err := g.readinessOf(p)
	if err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, Place{ID: id, Partition: p, Owner: g.follow.owner(p), Readiness: is})
}

// readinessOf is whether a partition is served, as was published last, or why nothing can be said of it.
func (g *Gateway) readinessOf(p int32) (runtime.Readiness, error) {
	one, ok := g.follow.shown(strconv.Itoa(int(p)))
	if why := g.silence(time.Now()); why != "" || !ok {
		return runtime.Readiness{Reasons: []string{or(why, noReadiness)}}, nil
	}
	var s runtime.Snapshot
	if err := json.Unmarshal(one.value, &s); err != nil {
		return runtime.Readiness{}, fmt.Errorf("decode the readiness record of partition %d: %w", p, err)
	}
	return s.Readiness, nil
}
