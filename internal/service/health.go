package service

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// checkTimeout bounds one round of checks: a prober waits no longer either.
const checkTimeout = 3 * time.Second

// Check says why something is not well; nil when it is.
type Check func(ctx context.Context) error

// Health holds the checks of a process. The zero value is ready to use; with no
// check it is live and ready.
type Health struct {
	mu    sync.Mutex
	live  []namedCheck
	ready []namedCheck
}

type namedCheck struct {
	name  string
	check Check
}

// Live adds a check of the service's own loop.
func (h *Health) Live(name string, check Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = append(h.live, namedCheck{name, check})
}

// Ready adds a check of what the service depends on.
func (h *Health) Ready(name string, check Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ready = append(h.ready, namedCheck{name, check})
}

// report is the body of /livez and /readyz.
type report struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"`
}

// ServeLive answers /livez: 200, or 503 with the reasons.
func (h *Health) ServeLive(w http.ResponseWriter, r *http.Request) { h.serve(w, r, &h.live) }

// ServeReady answers /readyz: 200, or 503 with the reasons.
func (h *Health) ServeReady(w http.ResponseWriter, r *http.Request) { h.serve(w, r, &h.ready) }

func (h *Health) serve(w http.ResponseWriter, r *http.Request, list *[]namedCheck) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	out := report{Reasons: h.run(ctx, list)}
	out.OK = len(out.Reasons) == 0
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !out.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A prober that hung up does not need the answer.
	_ = json.NewEncoder(w).Encode(out)
}

func (h *Health) run(ctx context.Context, list *[]namedCheck) []string {
	h.mu.Lock()
	checks := append([]namedCheck(nil), *list...)
	h.mu.Unlock()
	reasons := []string{}
	for _, c := range checks {
		if err := c.check(ctx); err != nil {
			reasons = append(reasons, c.name+": "+err.Error())
		}
	}
	return reasons
}

// Metrics serves what reg holds in the Prometheus text format.
func Metrics(reg prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Endpoints serves /livez, /readyz and /metrics, for services without a router
// of their own.
func Endpoints(h *Health, reg prometheus.Gatherer) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", h.ServeLive)
	mux.HandleFunc("GET /readyz", h.ServeReady)
	mux.Handle("GET /metrics", Metrics(reg))
	return mux
}
