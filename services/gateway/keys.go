package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

func keyRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/keys", name: "listKeys", role: Read,
			about:   "The keys that somebody holds a permit of or waits for, and the rates and breakers that remember something: how much of each limit is used, and the state of a breaker, as of now. They are in the order of their partitions, and there of kinds and names.",
			query:   []param{{"kind", "only those of concurrency, of rate, or of breaker"}, cursorParam, limitParam},
			answers: []answer{{200, "one page; it may end before it is full", List[events.KeySummary]{}, ""}}, handle: (*Gateway).listKeys},
		{method: "GET", path: "/v1/keys/{key}", name: "getKey", role: Read,
			about:   "What a key is at: its limit, who holds its permits, or how many a rate has granted within its time, whether a breaker is open, and who waits for a permit, the next first; at most 100 of each. A name with slashes is escaped.",
			query:   []param{{"kind", "concurrency, which it is if none is given, rate or breaker"}},
			answers: []answer{{200, "as of now", events.KeyState{}, ""}}, handle: (*Gateway).getKey},
	}
}

// keyKind reads ?kind=; it may be empty.
func keyKind(r *http.Request) (string, error) {
	kind := r.URL.Query().Get("kind")
	if kind != "" && !slices.Contains(events.KeyKinds, kind) {
		return "", refuseField("invalid_parameter", "kind", "want one of "+strings.Join(events.KeyKinds, ", "))
	}
	return kind, nil
}

func (g *Gateway) listKeys(w http.ResponseWriter, r *http.Request) error {
	kind, err := keyKind(r)
	if err != nil {
		return err
	}
	return g.listEntities(w, r, &entityList{
		what: "keys", query: events.Query{Kind: "keys", Workflow: events.KeyPrefix, Filter: kind},
		known: func(after string) error { _, _, err := events.ParseKeyID(after); return err },
	})
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
	kind, err := keyKind(r)
	if err != nil {
		return err
	}
	kind = cmp.Or(kind, events.ConcurrencyKey)
	return g.readEntity(w, r, events.Query{Kind: "key", Workflow: events.KeyOf(kind, name)})
}
