package gateway

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// rates bounds the requests of each client: a bucket per address that fills at
// the configured rate and holds one second's worth.
type rates struct {
	perSecond float64

	mu      sync.Mutex
	buckets map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the clients that are remembered; full buckets, which say
// nothing, are dropped first.
const maxBuckets = 10_000

func newRates(perSecond float64) *rates {
	return &rates{perSecond: perSecond, buckets: map[string]bucket{}}
}

// take takes one request of a client at a time; false when there is none left.
func (l *rates) take(client string, now time.Time) bool {
	if l.perSecond <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	most := max(1, l.perSecond)
	b, ok := l.buckets[client]
	if !ok {
		l.makeRoom(most, now)
		b = bucket{left: most, at: now}
	}
	b.left = min(most, b.left+now.Sub(b.at).Seconds()*l.perSecond)
	b.at = now
	allowed := b.left >= 1
	if allowed {
		b.left--
	}
	l.buckets[client] = b
	return allowed
}

func (l *rates) makeRoom(most float64, now time.Time) {
	if len(l.buckets) < maxBuckets {
		return
	}
	for client, b := range l.buckets {
		if b.left+now.Sub(b.at).Seconds()*l.perSecond >= most {
			delete(l.buckets, client)
		}
	}
	if len(l.buckets) >= maxBuckets { // all are busy: forget them rather than grow
		clear(l.buckets)
	}
}

// clientOf is the address that a request comes from. Headers of proxies are not
// believed: anybody can send them.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// limited applies the limits that hold for every route.
func (g *Gateway) limited(next http.Handler) http.Handler {
	places := make(chan struct{}, g.limits.InFlight)
	rates := newRates(g.limits.Rate)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rates.take(clientOf(r), time.Now()) {
			g.problem(w, retry(refuse("too_many_requests", fmt.Sprintf("the limit is %g requests per second and client", g.limits.Rate)), 1))
			return
		}
		select {
		case places <- struct{}{}:
		default:
			g.problem(w, retry(refuse("too_many_in_flight", fmt.Sprintf("the limit is %d requests at once", g.limits.InFlight)), 1))
			return
		}
		g.metrics.inFlight.Inc()
		defer func() { g.metrics.inFlight.Dec(); <-places }()
		next.ServeHTTP(w, r)
	})
}
