// Package kafkaclient makes clients that speak Kafka: commands go straight to the
// topic, and the planner that owns a workflow answers reads. Lists and readiness are
// the gateway's, and need a client of sdk/client.
//
//	c, err := kafkaclient.New(ctx, kafkaclient.Options{Brokers: []string{"127.0.0.1:4092"}})
//	run, err := c.Start(ctx, "order-fulfilment", order, client.StartOptions{})
package kafkaclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/sdk/client"
)

// Options say how to reach a deployment's Kafka.
type Options struct {
	// Brokers are some of the cluster's, as host:port. Without any a running `heddle
	// dev` is looked for in the working directory and above it, else a broker is
	// expected at 127.0.0.1:4092.
	Brokers []string
	Prefix  string // of the deployment's topics; empty: "heddle."

	// Source is the sender: the ce_source of commands, and with their ids what
	// duplicates are known by. Empty: "client".
	Source string
	// MaxWaiting bounds the calls that wait for an answer; 0: 65,536.
	MaxWaiting int

	Security Security // TLS and login, of files and values; TLS and SASL below win

	TLS    *tls.Config                                                       // over what the dialer opens; nil: plain text
	SASL   sasl.Mechanism                                                    // nil: none
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP

	Logger       *slog.Logger         // nil: silent
	Hook         kgo.Hook             // of franz-go, as for its metrics; nil: none
	Interceptors []client.Interceptor // the first is the outermost
}

// Security says how connections to Kafka are encrypted and who the client is.
type Security = kafka.Security

// openTimeout is what New gives the cluster, where its context has no end before.
const openTimeout = 10 * time.Second

// New connects: it finds its place in the topic of replies, within ten seconds or as
// long as ctx lasts.
func New(ctx context.Context, o Options) (*client.Client, error) {
	t, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("kafkaclient: %w", err)
	}
	return client.Over(t, o.Interceptors...), nil
}

func open(ctx context.Context, o Options) (*transport, error) {
	if len(o.Brokers) == 0 {
		dev, err := devfile.Running()
		if err != nil {
			return nil, fmt.Errorf("no brokers: %w", err)
		}
		o.Brokers, o.Prefix = dev.Brokers, cmp.Or(o.Prefix, dev.Prefix)
	}
	config := kafka.Config{
		Brokers: o.Brokers, Prefix: o.Prefix, ClientID: "heddle-client",
		Dialer: o.Dialer, TLS: o.TLS, SASL: o.SASL, Security: o.Security, Logger: o.Logger, Hook: o.Hook,
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	a, err := request.Open(ctx, request.Options{Kafka: config, Source: cmp.Or(o.Source, "client"), MaxWaiting: o.MaxWaiting, Logger: o.Logger})
	if kafka.IsMissing(err) {
		return nil, fmt.Errorf("%w; there is no deployment of the prefix %q: heddle topics apply makes one", err, o.Prefix)
	}
	switch {
	case errors.Is(err, kafka.ErrSecurity), errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, config.Unreached(err)
	}
	return &transport{config: config, requests: a, own: map[string]ownDefinition{}, prepared: map[[sha256.Size]byte]bool{}}, nil
}
