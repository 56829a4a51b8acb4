package equivalence

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
)

// tripwire is a process's way to the brokers. Armed, it ends the process at one
// of its requests: before it leaves, or after it has left and before its answer
// has come.
type tripwire struct {
	dial    kafka.Dialer
	fire    func() // ends the process
	weather *weather

	mu    sync.Mutex
	left  int  // requests that matter until it fires; 0: not armed
	after bool // the request still leaves
	cut   bool
	conns map[net.Conn]struct{}
}

// matters are the requests whose loss leaves something half done: Produce,
// InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit,
// OffsetCommit.
var matters = map[byte]bool{0: true, 8: true, 22: true, 24: true, 25: true, 26: true, 28: true}

func (w *world) newTripwire() *tripwire {
	return &tripwire{dial: w.cluster.Config.Dialer, weather: w.weather, conns: map[net.Conn]struct{}{}}
}

// arm makes the n-th request from now on the last one.
func (w *tripwire) arm(n int, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.after = n, after
}

var (
	errCut    = errors.New("the process is gone")
	errBroken = errors.New("the connection is broken")
)

// DialContext is a kafka.Dialer.
func (w *tripwire) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut { // as an unreachable address: what kgo does not know as such it tries again at once, for ever
		return nil, &net.OpError{Op: "dial", Net: network, Err: errCut}
	}
	conn, err := w.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errors.Join(errCut, conn.Close())
	}
	w.conns[conn] = struct{}{}
	return &tripped{Conn: conn, w: w, gone: make(chan struct{})}, nil
}

// sever breaks all connections; none is made until fix.
func (w *tripwire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for conn := range w.conns {
		conn.Close()
	}
	clear(w.conns)
}

func (w *tripwire) fix() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

// important reports whether a request begins with b that matters.
func important(b []byte) bool { return len(b) >= 6 && b[4] == 0 && matters[b[5]] }

// counts reports whether a request that matters is the last one.
func (w *tripwire) counts() (last, leaves bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return false, true
	}
	w.left--
	return w.left == 0, w.after
}

type tripped struct {
	net.Conn
	w    *tripwire
	late atomic.Int64 // nanoseconds that what is read next takes

	once sync.Once
	gone chan struct{} // closed: the connection is
}

// Write implements net.Conn; kgo writes a request at a time.
func (c *tripped) Write(b []byte) (int, error) {
	if !important(b) {
		return c.Conn.Write(b)
	}
	last, leaves := c.w.counts()
	if !last {
		return c.w.weather.write(c, b)
	}
	if leaves {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
	}
	c.w.fire()
	return 0, errCut
}

// lost breaks the connection.
func (c *tripped) lost() error { return errors.Join(errBroken, c.Close()) }

// Read implements net.Conn.
func (c *tripped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if d := time.Duration(c.late.Swap(0)); d > 0 {
		select {
		case <-time.After(d):
		case <-c.gone:
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *tripped) Close() error {
	c.once.Do(func() { close(c.gone) })
	c.w.mu.Lock()
	delete(c.w.conns, c.Conn)
	c.w.mu.Unlock()
	return c.Conn.Close()
}
