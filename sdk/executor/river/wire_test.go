package river_test

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// wire cuts all connections of a client in one of its messages.
type wire struct {
	mu    sync.Mutex
	armed bool
	step  int // messages before it
	sent  int // halves of the message
	gone  bool
	cut   func()
}

var errCut = errors.New("the connection was cut")

func (w *wire) configure(c *pgxpool.Config) {
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

func (w *wire) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
}

type tapped struct {
	net.Conn
	wire *wire
}

func (c *tapped) Write(b []byte) (int, error) {
	w := c.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.gone:
		return 0, errCut
	case !w.armed:
	case w.step > 0:
		w.step--
	default:
		w.gone = true
		w.cut()
		_, err := c.Conn.Write(b[:len(b)*w.sent/2])
		return 0, errors.Join(errCut, err, c.Conn.Close())
	}
	return c.Conn.Write(b)
}
