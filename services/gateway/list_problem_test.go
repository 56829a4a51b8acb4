package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/heddle-run/heddle/services/gateway/view"
)

// While its view is made again a list is unavailable, and says when to ask again.
func TestAListThatIsMadeAgainIsUnavailable(t *testing.T) {
	w := httptest.NewRecorder()
	problemOf(listProblem(view.ErrRemade)).write(w)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("answered %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}
