package gateway

import (
	"context"
	"net/http"

	"github.com/heddle-run/heddle/shared/events"
)

func keyRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/keys/{key}", name: "getKey", role: Read,
			about:   "What a key of concurrency is at: its limit, who holds its permits, and who waits for one, the next first; at most 100 of each. A name with slashes is escaped.",
			answers: []answer{{200, "as of now", events.KeyState{}, ""}}, handle: (*Gateway).getKey},
	}
}

// getKey asks the partition of a key.
func (g *Gateway) getKey(w http.ResponseWriter, r *http.Request) error {
	name, err := pathValue(r, "key")
	if err != nil {
		return err
	}
	if err := events.CheckKeyName(name); err != nil {
		return refuseField("invalid_parameter", "key", err.Error())
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	body, err := g.requests.Read(ctx, events.Query{Kind: "key", Workflow: events.KeyOf(events.ConcurrencyKey, name)})
	if err != nil {
		return err
	}
	writeBytes(w, r, http.StatusOK, "application/json", body)
	return nil
}
