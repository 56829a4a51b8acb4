package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/internal/tunnel"
)

// Config of a gateway.
type Config struct {
	Kafka kafka.Config
	Dir   string // of the view; empty: in memory

	// Listen is the address; without APIKeys it must be loopback, unless
	// Insecure says that something else guards it.
	Listen   string
	Insecure bool
	APIKeys  access.Keys

	// CertFile and KeyFile (PEM) let the gateway speak https. They are read again
	// when they change.
	CertFile, KeyFile string

	// CreateQueues lets a registration create the topics of the task queues it
	// names; otherwise it is refused with the command that creates them.
	CreateQueues bool

	Archive Archive // nil: there is none

	// Runners serves frames.Path on this address too, where the gateway is in one process with an executor; nil: nobody does.
	Runners http.Handler

	NotReady NotReady // what becomes of commands for partitions that are not ready; empty: AcceptNotReady

	Limits   Limits
	Tunnels  tunnel.Times         // of requests to attempts at runners
	Bounds   service.Bounds       // of connections
	Logger   *slog.Logger         // nil: silent
	Registry *prometheus.Registry // nil: one of its own
}

// Limits of a gateway; a zero field means the default.
type Limits struct {
	Body        int64         // bytes of a request's body; 1 MiB
	Depth       int           // nesting of a JSON body; 100
	InFlight    int           // requests being served; 8,192
	Watchers    int           // event streams; 256
	Tunnels     int           // requests to attempts at runners that are open; 256
	TunnelBody  int64         // bytes of the body of such a request; 64 MiB
	Rate        float64       // requests per second and client; 0: unlimited
	Wait        time.Duration // the longest ?wait=; 5 minutes
	Answer      time.Duration // how long a planner may take to answer; 10 s
	Produce     time.Duration // how long Kafka may take to acknowledge; 5 s
	Definitions int           // bytes of all registered definitions; 256 MiB
}

// Defaults of the limits that have no unlimited form.
const (
	defaultBody        = 1 << 20
	defaultDepth       = 100
	defaultInFlight    = 8192
	defaultWatchers    = 256
	defaultTunnels     = 256
	defaultTunnelBody  = 64 << 20
	defaultWait        = 5 * time.Minute
	defaultAnswer      = 10 * time.Second
	defaultProduce     = 5 * time.Second
	defaultDefinitions = 256 << 20
)

func (l Limits) withDefaults() Limits {
	l.Body = or(l.Body, defaultBody)
	l.Depth = or(l.Depth, defaultDepth)
	l.InFlight = or(l.InFlight, defaultInFlight)
	l.Watchers = or(l.Watchers, defaultWatchers)
	l.Tunnels = or(l.Tunnels, defaultTunnels)
	l.TunnelBody = or(l.TunnelBody, defaultTunnelBody)
	l.Wait = or(l.Wait, defaultWait)
	l.Answer = or(l.Answer, defaultAnswer)
	l.Produce = or(l.Produce, defaultProduce)
	l.Definitions = or(l.Definitions, defaultDefinitions)
	return l
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// ErrExposed is a binding that everybody on the network could use.
var ErrExposed = errors.New("without API keys the gateway listens on loopback only: give --api-keys, or --insecure-listen if something else guards it")

// checkListen refuses to serve the network without authentication.
func (c Config) checkListen() error {
	if len(c.APIKeys) > 0 || c.Insecure {
		return nil
	}
	exposed, err := access.Exposed(c.Listen)
	if err == nil && exposed {
		err = fmt.Errorf("listen on %s: %w", c.Listen, ErrExposed)
	}
	return err
}
