package gateway

import (
	"bytes"
	"context"
	"encoding/json"
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
	all, err := g.aggregate()
	if err != nil {
		return err
	}
	writeBytes(w, r, http.StatusOK, "application/json", all)
	return nil
}

func (g *Gateway) aggregate() (json.RawMessage, error) {
	if why := g.silence(time.Now()); why != "" {
		return json.Marshal(runtime.Aggregate{
			SchemaVersion: runtime.SchemaVersion, Reasons: []string{why}, Warnings: []string{}, Partitions: []runtime.Partition{},
		})
	}
	all, _ := g.follow.shown(runtime.AggregateKey)
	return all.value, nil
}

// followReadiness sends the aggregate as it is, and again whenever it changes, as server-sent events. There is nothing to
// take up again: each has all.
func (g *Gateway) followReadiness(w http.ResponseWriter, r *http.Request) error {
	return g.stream(w, r, func(ctx context.Context, out *stream) error {
		silence := time.NewTicker(runtime.AggregateEvery) // nobody tells of a service that is not there any more
		defer silence.Stop()
		var last json.RawMessage
		for n := 0; ctx.Err() == nil; {
			changed := g.follow.next()
			now, err := g.aggregate()
			if err != nil {
				return err
			}
			if n == 0 || !bytes.Equal(now, last) {
				n++
				if !out.send(strconv.Itoa(n), now) {
					return nil
				}
				last = now
			}
			select {
			case <-changed:
			case <-silence.C:
			case <-ctx.Done():
			}
		}
		return nil
	})
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
	one, why := g.snapshot(p)
	if why == "" {
		writeBytes(w, r, http.StatusOK, "application/json", one)
		return nil
	}
	return writeJSON(w, r, http.StatusOK, runtime.Snapshot{
		SchemaVersion: runtime.SchemaVersion, Readiness: runtime.Readiness{Reasons: []string{why}},
	})
}

// snapshot is what was published last of a partition, or why nothing can be said of it.
func (g *Gateway) snapshot(p int32) (value json.RawMessage, why string) {
	if why := g.silence(time.Now()); why != "" {
		return nil, why
	}
	one, ok := g.follow.shown(strconv.Itoa(int(p)))
	if !ok {
		return nil, noReadiness
	}
	return one.value, ""
}
