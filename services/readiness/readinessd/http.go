package readinessd

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/heddle-run/heddle/internal/service"
)

// handler serves /readyz, /v1/readiness, /v1/readiness/P, /livez and /metrics.
func (s *Service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.health.ServeLive)
	mux.Handle("GET /metrics", service.Metrics(s.cfg.Registry))
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.HandleFunc("GET /v1/readiness", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, s.table.current())
	})
	mux.HandleFunc("GET /v1/readiness/{partition}", s.servePartition)
	return mux
}

// serveReady answers 200 or 503, with the same body.
func (s *Service) serveReady(w http.ResponseWriter, _ *http.Request) {
	a := s.table.current()
	status := http.StatusOK
	if !a.Ready {
		status = http.StatusServiceUnavailable
	}
	write(w, status, a)
}

func (s *Service) servePartition(w http.ResponseWriter, r *http.Request) {
	list := s.table.current().Partitions
	p, err := strconv.Atoi(r.PathValue("partition"))
	if err != nil || p < 0 || p >= len(list) {
		http.Error(w, "there is no such partition", http.StatusNotFound)
		return
	}
	write(w, http.StatusOK, list[p].Snapshot)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that hung up does not need it
}

func (s *Service) serveHTTP(ctx context.Context, ready func()) error {
	ln := s.cfg.Listener
	if ln == nil {
		var err error
		if ln, err = service.Listen(ctx, s.cfg.Listen); err != nil {
			return err
		}
	}
	ready()
	return service.ServeHTTP(ctx, ln, s.handler(), stopGrace, s.logger)
}
