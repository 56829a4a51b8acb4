package kafka

import (
	"context"
	"net"
	"time"
)

// dialPause is how long a dial that fails takes at least.
const dialPause = 100 * time.Millisecond

// paced is a dialer whose failures take a while: a kgo producer that cannot dial
// for its first producer id tries again at once, for ever.
func paced(dial Dialer) Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			select {
			case <-time.After(dialPause):
			case <-ctx.Done():
			}
		}
		return conn, err
	}
}
