package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-chi/chi/v5"

	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/search"
)

// Listed are the ids in a gateway's view.
func Listed(t *testing.T, g *Gateway) []string {
	t.Helper()
	page, err := g.view.List(search.Filter{}, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, item := range page.Items {
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
func Taken(g *Gateway) int64 { return g.view.Taken() }

// MakeFormless puts a store of before there were forms in the place of the
// view's: rows were bare statuses.
func MakeFormless(t *testing.T, dir string) {
	t.Helper()
	source := formless(t, dir, nil)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	formless(t, dir, map[string][]byte{viewTopicKey: source[:16], "w/a": []byte("{}"), "w/b": []byte("{}")})
}

// viewTopicKey is where a view says which topic it was made from.
const viewTopicKey = "m/topic"

// formless writes rows with Pebble's defaults and returns the topic's.
func formless(t *testing.T, dir string, rows map[string][]byte) []byte {
	t.Helper()
	o := &pebble.Options{}
	shared := store.NewShared(1 << 20)
	defer shared.Close()
	store.Watch(o, slog.New(slog.DiscardHandler), shared, nil)
	db, err := pebble.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range rows {
		if err := db.Set([]byte(key), value, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	source, closer, err := db.Get([]byte(viewTopicKey))
	if err != nil {
		t.Fatal(err)
	}
	source = bytes.Clone(source)
	if err := errors.Join(closer.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return source
}

// Walk visits the routes of the running router.
func Walk(g *Gateway, visit func(method, path string)) error {
	return chi.Walk(g.mux, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		visit(method, path)
		return nil
	})
}
