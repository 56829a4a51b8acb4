package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	dialTimeout = 5 * time.Second

	// dialPause is how long a dial that fails takes at least.
	dialPause = 100 * time.Millisecond
)

// DialTCP is the dialer of configurations without one.
func DialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(ctx, network, addr)
}

// dialer opens the connections of all clients: the configured one, or TCP, and TLS
// over it if that is configured.
func (c Config) dialer() Dialer {
	dial := c.Dialer
	if dial == nil {
		dial = DialTCP
	}
	if c.TLS != nil {
		dial = encrypted(dial, c.TLS)
	}
	if c.Patience > 0 {
		dial = within(c.Patience, dial)
	}
	return paced(dial)
}

// within is a dialer that gives up after a while.
func within(d time.Duration, dial Dialer) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return dial(ctx, network, addr)
	}
}

// encrypted speaks TLS over the connections of a dialer, with whom it has dialled
// if the configuration does not name another.
func encrypted(dial Dialer, config *tls.Config) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		plain, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		own := config.Clone()
		if own.ServerName == "" {
			own.ServerName = host
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn := tls.Client(plain, own)
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS with the broker %s: %w", addr, errors.Join(err, plain.Close()))
		}
		return conn, nil
	}
}

// paced is a dialer whose failures take a while: a kgo producer that cannot dial
// for its first producer id tries again at once, for ever.
func paced(dial Dialer) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			_ = pause(ctx, dialPause) // a caller that does not wait any more is told why the dial failed
		}
		return conn, err
	}
}
