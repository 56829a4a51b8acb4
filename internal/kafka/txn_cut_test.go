package kafka_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// cutter is a network that is gone for good once a Produce request has left.
type cutter struct {
	dial kafka.Dialer
	cut  atomic.Bool
}

func (n *cutter) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if n.cut.Load() {
		return nil, errors.New("the network is gone")
	}
	conn, err := n.dial(ctx, network, addr)
	return &cutConn{conn, n}, err
}

type cutConn struct {
	net.Conn
	n *cutter
}

// Write implements net.Conn; a request begins with its size and its key, which
// is 0 for Produce.
func (c *cutConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if len(b) > 6 && b[4] == 0 && b[5] == 0 {
		c.n.cut.Store(true)
		err = errors.Join(err, c.Conn.Close())
	}
	return n, err
}

func TestATransactionWithoutANetworkEndsWithItsContext(t *testing.T) {
	for name, wait := range map[string]time.Duration{"the caller's": 3 * time.Second, "its own": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := brokertest.StartInBubble(t, topics.Options{Partitions: 2})
				n := &cutter{dial: c.Config.Dialer}
				cfg := c.Config
				cfg.Dialer = n.DialContext
				txn, err := kafka.NewTxn(cfg, 1)
				if err != nil {
					t.Fatal(err)
				}
				if err := txn.Fence(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithTimeout(t.Context(), wait)
				defer stop()
				began := time.Now()
				wantOutcome(t, txn.Run(ctx, records(c, "a"), nil), kafka.Deposed)
				if d, most := time.Since(began), min(wait, 10*time.Second)+2*time.Second; d > most {
					t.Errorf("it took %v, want at most %v", d, most)
				}
				if txn.Fenced() {
					t.Error("a transaction with records of unknown fate can be used again without a fence")
				}
			})
		})
	}
}
