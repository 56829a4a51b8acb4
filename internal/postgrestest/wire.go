package postgrestest

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Wire cuts all connections of a client in one of its messages. Its fields are set before it is used.
type Wire struct {
	Step int    // messages before it, from Arm on
	Sent int    // halves of the message
	Cut  func() // called then

	mu    sync.Mutex
	armed bool
	gone  bool
}

var errCut = errors.New("the connection was cut")

// Configure has the client of a pool speak over the wire.
func (w *Wire) Configure(c *pgxpool.Config) {
	c.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { // nobody is left to be asked to cancel
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.gone {
			return nil, errCut
		}
		conn, err := dial(ctx, network, addr)
		return &tapped{conn, w}, err
	}
}

// Arm begins to count messages.
func (w *Wire) Arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
}

type tapped struct {
	net.Conn
	wire *Wire
}

func (c *tapped) Write(b []byte) (int, error) {
	w := c.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.gone:
		return 0, errCut
	case !w.armed:
	case w.Step > 0:
		w.Step--
	default:
		w.gone = true
		w.Cut()
		_, err := c.Conn.Write(b[:len(b)*w.Sent/2])
		return 0, errors.Join(errCut, err, c.Conn.Close())
	}
	return c.Conn.Write(b)
}
