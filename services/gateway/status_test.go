package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// A status that no workflow has finds nothing, which would look like an answer.
func TestAnUnknownStatusIsRefused(t *testing.T) {
	r := start(t, nil)
	ask := func(status string) (int, string) {
		w := httptest.NewRecorder()
		r.gw.Handler().ServeHTTP(w, httptest.NewRequestWithContext(r.ctx, http.MethodGet, "http://localhost/v1/workflows?status="+status, nil))
		b, err := io.ReadAll(w.Body)
		if err != nil || !json.Valid(b) {
			t.Fatalf("%s: %v", b, err)
		}
		return w.Code, string(b)
	}
	for _, status := range events.Statuses() {
		if code, body := ask(status); code != http.StatusOK {
			t.Errorf("%s: %d %s", status, code, body)
		}
	}
	if code, body := ask("bogus"); code != http.StatusBadRequest && code != http.StatusUnprocessableEntity || !strings.Contains(body, "running") {
		t.Errorf("bogus: %d %s", code, body)
	}
}
