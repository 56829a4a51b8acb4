package gateway

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"
)

// Listed are the ids in a gateway's view.
func Listed(t *testing.T, g *Gateway) []string {
	t.Helper()
	items, _, err := g.view.list(filter{limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, item := range items {
		var w struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(item, &w); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.ID)
	}
	return ids
}

// Taken is how many status records a gateway's view has read.
func Taken(g *Gateway) int64 { return g.view.rows.Load() }

// Walk visits the routes of the running router.
func Walk(g *Gateway, visit func(method, path string)) error {
	return chi.Walk(g.mux, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		visit(method, path)
		return nil
	})
}
