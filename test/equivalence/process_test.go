package equivalence

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/heddle-run/heddle/internal/kafka"
)

// tripwire is a process's way to the brokers. Armed, it ends the process at one
// of its requests: before it leaves, or after it has left and before its answer
// has come.
type tripwire struct {
	dial kafka.Dialer
	fire func() // ends the process

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

func newTripwire(dial kafka.Dialer) *tripwire {
	return &tripwire{dial: dial, conns: map[net.Conn]struct{}{}}
}

// arm makes the n-th request from now on the last one.
func (w *tripwire) arm(n int, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.after = n, after
}

var errCut = errors.New("the process is gone")

// DialContext is a kafka.Dialer.
func (w *tripwire) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return nil, errCut
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
	return &tripped{Conn: conn, w: w}, nil
}

// sever breaks all connections; none is made until mend.
func (w *tripwire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for conn := range w.conns {
		conn.Close()
	}
	clear(w.conns)
}

func (w *tripwire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

// counts says whether the request that begins with b is the last one.
func (w *tripwire) counts(b []byte) (last, leaves bool) {
	if len(b) < 6 || b[4] != 0 || !matters[b[5]] {
		return false, true
	}
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
	w *tripwire
}

// Write implements net.Conn; kgo writes a request at a time.
func (c *tripped) Write(b []byte) (int, error) {
	last, leaves := c.w.counts(b)
	if !last {
		return c.Conn.Write(b)
	}
	if leaves {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
	}
	c.w.fire()
	return 0, errCut
}

// Close implements net.Conn.
func (c *tripped) Close() error {
	c.w.mu.Lock()
	delete(c.w.conns, c.Conn)
	c.w.mu.Unlock()
	return c.Conn.Close()
}
