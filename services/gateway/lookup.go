package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"

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
	is := runtime.Readiness{}
	if one, why := g.snapshot(p); why != "" {
		is.Reasons = []string{why}
	} else if is, err = readinessIn(p, one); err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, Place{ID: id, Partition: p, Owner: g.follow.owner(p), Readiness: is})
}

// readinessIn is whether a partition is served, as its snapshot says.
func readinessIn(p int32, snapshot json.RawMessage) (runtime.Readiness, error) {
	var s runtime.Snapshot
	if err := json.Unmarshal(snapshot, &s); err != nil {
		return runtime.Readiness{}, fmt.Errorf("decode the readiness record of partition %d: %w", p, err)
	}
	return s.Readiness, nil
}
