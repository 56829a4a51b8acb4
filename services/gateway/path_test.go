package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/go-chi/chi/v5"
)

// A name in a path is what was escaped there, once: also one with a percent sign, or that looks escaped itself.
func TestANameInAPathIsReadAsItWasWritten(t *testing.T) {
	for _, name := range []string{"prices", "100%", "50%41", "a/b", "a b", "é/%", "%2F", "a+b"} {
		var got string
		var wrong error
		mux := chi.NewRouter()
		mux.Get("/v1/keys/{key}", func(_ http.ResponseWriter, r *http.Request) { got, wrong = pathValue(r, "key") })
		r := httptest.NewRequest(http.MethodGet, "/v1/keys/"+url.PathEscape(name), nil)
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if wrong != nil || got != name {
			t.Errorf("%q is read as %q, %v", name, got, wrong)
		}
	}
}
