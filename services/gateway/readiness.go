package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// noReadiness is the reason when nothing was published yet.
const noReadiness = "no readiness record: the readiness service has not published any"

// silence returns why what the readiness service published cannot be trusted:
// it says something at least every AggregateEvery while it runs. Empty when it
// can.
func (g *Gateway) silence(now time.Time) string {
	all, ok := g.follow.shown(runtime.AggregateKey)
	switch {
	case !ok:
		return noReadiness
	case now.Sub(all.at) > 3*runtime.AggregateEvery:
		return "the readiness record is of " + runtime.FormatTime(all.at) + ": the readiness service does not run"
	}
	return ""
}

// getReadiness passes the aggregate on; without a recent one it says so.
func (g *Gateway) getReadiness(w http.ResponseWriter, r *http.Request) error {
	if why := g.silence(time.Now()); why != "" {
		return writeJSON(w, r, http.StatusOK, runtime.Aggregate{
			SchemaVersion: runtime.SchemaVersion, Reasons: []string{why}, Warnings: []string{}, Partitions: []runtime.Partition{},
		})
	}
	all, _ := g.follow.shown(runtime.AggregateKey)
	writeBytes(w, r, http.StatusOK, "application/json", all.value)
	return nil
}

// partitionOf is the partition of the path.
func (g *Gateway) partitionOf(r *http.Request) (int32, error) {
	text, err := pathValue(r, "partition")
	if err != nil {
		return 0, err
	}
	p, err := strconv.ParseInt(text, 10, 32)
	if err != nil || p < 0 || int32(p) >= g.follow.partitions {
		return 0, refuse("not_found", fmt.Sprintf("there is no partition %s; they are 0 to %d", text, g.follow.partitions-1))
	}
	return int32(p), nil
}

func (g *Gateway) getPartitionReadiness(w http.ResponseWriter, r *http.Request) error {
	p, err := g.partitionOf(r)
	if err != nil {
		return err
	}
	why := g.silence(time.Now())
	one, ok := g.follow.shown(strconv.Itoa(int(p)))
	if why == "" && ok {
		writeBytes(w, r, http.StatusOK, "application/json", one.value)
		return nil
	}
	return writeJSON(w, r, http.StatusOK, runtime.Snapshot{
		SchemaVersion: runtime.SchemaVersion, Readiness: runtime.Readiness{Reasons: []string{or(why, noReadiness)}},
	})
}
