package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// listQueues counts the open attempts of each task queue, by what partitions have published.
func (g *Gateway) listQueues(w http.ResponseWriter, r *http.Request) error {
	if why := g.silence(time.Now()); why != "" {
		return retry(refuse("unavailable", why), 5)
	}
	published, _ := g.follow.shown(runtime.AggregateKey)
	var all runtime.Aggregate
	if err := json.Unmarshal(published.value, &all); err != nil {
		return fmt.Errorf("decode the readiness record: %w", err)
	}
	return writeJSON(w, r, http.StatusOK, List[Queue]{Items: all.Queues()})
}
