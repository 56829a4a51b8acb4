package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/heddle-run/heddle/shared/events"
)

func keyRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/keys/{key}", name: "getKey", role: Read,
			about:   "What a key is at: its limit, who holds its permits, or how many a rate has granted within its time, and who waits for one, the next first; at most 100 of each. A name with slashes is escaped.",
			query:   []param{{"kind", "concurrency, which it is if none is given, or rate"}},
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
	kind := cmp.Or(r.URL.Query().Get("kind"), events.ConcurrencyKey)
	if kind != events.ConcurrencyKey && kind != events.RateKey {
		return refuseField("invalid_parameter", "kind", fmt.Sprintf("want %s or %s", events.ConcurrencyKey, events.RateKey))
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	body, err := g.requests.Read(ctx, events.Query{Kind: "key", Workflow: events.KeyOf(kind, name)})
	if err != nil {
		return err
	}
	writeBytes(w, r, http.StatusOK, "application/json", body)
	return nil
}
