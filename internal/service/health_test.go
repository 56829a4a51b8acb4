package service

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestReadinessNamesWhatIsMissing(t *testing.T) {
	var h Health
	var down error
	h.Ready("kafka", func(context.Context) error { return down })
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "heddle_test_total", Help: "Test."})
	reg.MustRegister(c)
	mux := Endpoints(&h, reg)

	if code, body := get(t, mux, "/readyz"); code != 200 || body != `{"ok":true,"reasons":[]}` {
		t.Fatalf("ready: %d %s", code, body)
	}
	down = errors.New("no broker answers")
	if code, body := get(t, mux, "/readyz"); code != 503 || body != `{"ok":false,"reasons":["kafka: no broker answers"]}` {
		t.Fatalf("not ready: %d %s", code, body)
	}
	if code, _ := get(t, mux, "/livez"); code != 200 {
		t.Fatalf("a missing dependency made it dead: %d", code)
	}
	if _, body := get(t, mux, "/metrics"); !strings.Contains(body, "heddle_test_total 0") {
		t.Fatalf("metrics: %s", body)
	}
}
