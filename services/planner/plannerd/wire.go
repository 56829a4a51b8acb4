package plannerd

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/heddle-run/heddle/internal/kafka"
)

// wire is the planner's way to the brokers, which can be cut: then connections
// break and none is made any more, as when the process is killed.
type wire struct {
	dial kafka.Dialer

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	gone  chan struct{} // closed when cut
}

var errCut = errors.New("the wire is cut")

// newWire takes the place of the configuration's dialer.
func newWire(c *kafka.Config) *wire {
	w := &wire{dial: c.Dialer, conns: map[net.Conn]struct{}{}, gone: make(chan struct{})}
	if w.dial == nil {
		w.dial = kafka.DialTCP
	}
	c.Dialer = w.connect
	return w
}

func (w *wire) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.isCut() {
		return nil, errCut
	}
	conn, err := w.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut() {
		return nil, errors.Join(errCut, conn.Close())
	}
	w.conns[conn] = struct{}{}
	return &wired{Conn: conn, w: w}, nil
}

// wired forgets itself when it is closed.
type wired struct {
	net.Conn
	w *wire
}

// Close implements net.Conn.
func (c *wired) Close() error {
	c.w.mu.Lock()
	delete(c.w.conns, c.Conn)
	c.w.mu.Unlock()
	return c.Conn.Close()
}

// cut breaks every connection.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut() {
		return
	}
	close(w.gone)
	for conn := range w.conns {
		_ = conn.Close() // broken on purpose
	}
}

func (w *wire) isCut() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// context ends with its parent or when the wire is cut.
func (w *wire) context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(parent)
	go func() {
		select {
		case <-w.gone:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// explain is the error of a start that was interrupted.
func (w *wire) explain(err error) error {
	if w.isCut() {
		return ErrCrashed
	}
	return err
}
