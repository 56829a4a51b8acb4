package gateway

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/heddle-run/heddle/shared/snapshot"
)

// noReadiness is the reason when nothing was published yet.
const noReadiness = "no readiness record: the readiness service has not published any"

// getReadiness passes the aggregate on; without one it says so.
func (g *Gateway) getReadiness(w http.ResponseWriter, r *http.Request) error {
	if raw := g.follow.snapshot(snapshot.AggregateKey); raw != nil {
		writeBytes(w, r, http.StatusOK, "application/json", raw)
		return nil
	}
	return writeJSON(w, r, http.StatusOK, snapshot.Aggregate{
		SchemaVersion: snapshot.SchemaVersion, Reasons: []string{noReadiness}, Warnings: []string{}, Partitions: []snapshot.Partition{},
	})
}

func (g *Gateway) getPartitionReadiness(w http.ResponseWriter, r *http.Request) error {
	text, err := pathValue(r, "partition")
	if err != nil {
		return err
	}
	p, err := strconv.ParseInt(text, 10, 32)
	if err != nil || p < 0 || int32(p) >= g.follow.partitions {
		return refuse("not_found", fmt.Sprintf("there is no partition %s; they are 0 to %d", text, g.follow.partitions-1))
	}
	if raw := g.follow.snapshot(strconv.FormatInt(p, 10)); raw != nil {
		writeBytes(w, r, http.StatusOK, "application/json", raw)
		return nil
	}
	return writeJSON(w, r, http.StatusOK, snapshot.Snapshot{
		SchemaVersion: snapshot.SchemaVersion, Readiness: snapshot.Readiness{Reasons: []string{noReadiness}},
	})
}
