package gateway

import (
	"errors"
	"net/http"

	"github.com/heddle-run/heddle/internal/access"
)

// What routes need.
const (
	Read    = access.Read    // look
	Write   = access.Write   // register, start, feed, control, complete
	Operate = access.Operate // partitions; what cannot be taken back: delete
)

// authorize checks the request's key against the role that a route needs.
// Without configured keys everybody may do everything.
func (g *Gateway) authorize(r *http.Request, need access.Role) error {
	err := g.cfg.APIKeys.Authorize(keyOf(r), need)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, access.ErrRole):
		return refuse("forbidden", err.Error())
	}
	return refuse("unauthenticated", err.Error())
}

// guarded keeps web pages of others out: a page must not send requests across
// origins, and where there are no keys the name it was reached by must be one
// of this machine, so that no foreign name can be pointed at it.
func (g *Gateway) guarded(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	loopbackOnly := len(g.cfg.APIKeys) == 0 && !g.cfg.Insecure
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := origins.Check(r); err != nil {
			g.problem(w, refuse("cross_origin", "requests of web pages of another origin are not served"))
			return
		}
		if loopbackOnly && !access.IsLoopback(r.Host) {
			g.problem(w, refuse("host_not_allowed", "without API keys the gateway answers to localhost and loopback addresses only"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
