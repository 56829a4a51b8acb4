package dev

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/heddle-run/heddle/services/planner/pool"
)

// checkPools refuses pools that a planner cannot be told of.
func (o *Options) checkPools() error {
	if err := (pool.Settings{Pools: o.Pools}).Check(); err != nil {
		return err
	}
	for name, p := range o.Pools {
		if o.Planner != nil && (p.Overflow || p.Upgrade || p.Shards > 1) {
			return fmt.Errorf("pool %s: a planner that runs as a process of its own is told of queues only", name)
		}
	}
	return nil
}

// relay passes the sockets of runners on to the executor of this process, which comes and goes.
type relay struct{ handler atomic.Pointer[http.Handler] }

// to has them passed on to h; nil: to nobody.
func (r *relay) to(h http.Handler) {
	if h == nil {
		r.handler.Store(nil)
		return
	}
	r.handler.Store(&h)
}

// ServeHTTP implements http.Handler.
func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	h := r.handler.Load()
	if h == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no executor serves runners now", http.StatusServiceUnavailable)
		return
	}
	(*h).ServeHTTP(w, q)
}
