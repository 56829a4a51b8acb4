package broker

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits bound what connections may cost; a zero field means the default. kfake
// has none: it believes the four bytes that a request begins with, and makes room
// for so much before it reads on.
type Limits struct {
	Frame       int // bytes of a request; 100 MiB, as Kafka's socket.request.max.bytes
	Announced   int // bytes of all large requests that have not arrived whole; 200 MiB
	Connections int // at a time, beside the broker's own; 1,024

	// Idle is how long a connection may be silent; 10 minutes, as Kafka's
	// connections.max.idle.ms, which clients know.
	Idle time.Duration
}

const (
	defaultFrame       = 100 << 20
	defaultConnections = 1024

	// smallFrame is what any connection may announce: with the bound of
	// connections it is a bound of memory.
	smallFrame = 64 << 10

	// least is the smallest header of a request.
	least = 8

	// firstFrame is how long a connection may take to say anything, and frameTime
	// how long a large request may take to arrive.
	firstFrame  = 10 * time.Second
	frameTime   = 30 * time.Second
	defaultIdle = 10 * time.Minute
)

func (l Limits) withDefaults() Limits {
	if l.Frame == 0 {
		l.Frame = defaultFrame
	}
	if l.Announced == 0 {
		l.Announced = 2 * l.Frame
	}
	if l.Connections == 0 {
		l.Connections = defaultConnections
	}
	if l.Idle == 0 {
		l.Idle = defaultIdle
	}
	return l
}

// limiter holds the connections of a broker to its limits.
type limiter struct {
	Limits
	log *slog.Logger

	open      atomic.Int64
	announced atomic.Int64
	full      atomic.Bool // connections are refused, which was logged

	mu  sync.Mutex
	own map[string]bool // where connections of the broker's own client come from
}

// dial connects the broker's own client, which is let in though others have taken
// all places.
func (l *limiter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock() // nobody is turned away while it is not known where this one comes from
	defer l.mu.Unlock()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if l.own == nil {
		l.own = map[string]bool{}
	}
	from := conn.LocalAddr().String()
	l.own[from] = true
	return &ownConn{Conn: conn, left: func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.own, from)
	}}, nil
}

// ownConn is a connection of the broker's own client.
type ownConn struct {
	net.Conn
	left func()
}

// Close implements io.Closer.
func (c *ownConn) Close() error {
	c.left() // before its place may be another's
	return c.Conn.Close()
}

// admits reports whether a connection has a place; one that counts takes it.
func (l *limiter) admits(conn net.Conn) (admitted, counts bool) {
	// Our own client may be dialling, which a full queue of connections would hold
	// up: then one too many is let in rather than waited for.
	dialling := !l.mu.TryLock()
	if !dialling {
		own := l.own[conn.RemoteAddr().String()]
		l.mu.Unlock()
		if own {
			return true, false
		}
	}
	if l.open.Add(1) <= int64(l.Connections) || dialling {
		l.full.Store(false)
		return true, true
	}
	l.open.Add(-1)
	return false, false
}

// listen is kfake's way to a listener; on a network of tests, or TCP.
func (l *limiter) listen(network *Network) func(network, addr string) (net.Listener, error) {
	return func(kind, addr string) (net.Listener, error) {
		var ln net.Listener
		var err error
		if network != nil {
			ln, err = network.Listen(kind, addr)
		} else {
			var lc net.ListenConfig
			ln, err = lc.Listen(context.Background(), kind, addr)
		}
		if err != nil {
			return nil, err
		}
		return &limitedListener{Listener: ln, limits: l}, nil
	}
}

type limitedListener struct {
	net.Listener
	limits *limiter
}

// Accept implements net.Listener. Connections above the limit are closed at once.
func (ln *limitedListener) Accept() (net.Conn, error) {
	l := ln.limits
	for {
		conn, err := ln.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if ok, counts := l.admits(conn); ok {
			_ = conn.SetReadDeadline(time.Now().Add(firstFrame)) // one without deadlines is a test's
			return &limitedConn{Conn: conn, limits: l, counts: counts}, nil
		}
		if !l.full.Swap(true) {
			l.log.Warn("broker: connections are refused until others close", "limit", l.Connections)
		}
		_ = conn.Close() // nothing was said on it
	}
}

// limitedConn looks at the beginning of each request before kfake does. One
// goroutine reads at a time.
type limitedConn struct {
	net.Conn
	limits *limiter
	counts bool // among the connections that are bounded

	head [frameHead]byte // length and key of the request
	held []byte          // of them what is not handed on yet
	left int             // bytes of the request that are not handed on yet

	mu     sync.Mutex
	large  int64 // of the request, where it counts as announced
	closed bool
}

const frameHead = 4 + 2

// Read implements io.Reader. It never reads beyond a request.
func (c *limitedConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	var n int
	var err error
	if len(c.held) > 0 {
		n = copy(p, c.held)
		c.held = c.held[n:]
	} else {
		n, err = c.Conn.Read(p[:min(len(p), c.left)])
	}
	if c.left -= n; c.left == 0 {
		c.arrived()
	}
	return n, err
}

// next reads the beginning of a request and refuses what is none, or too large.
func (c *limitedConn) next() error {
	if _, err := io.ReadFull(c.Conn, c.head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(c.head[:])
	key := int16(binary.BigEndian.Uint16(c.head[4:]))
	if size < least || uint64(size) > uint64(c.limits.Frame) || kmsg.RequestForKey(key) == nil {
		return c.refuse(fmt.Sprintf("it sent no request of Kafka's protocol, or one larger than %d bytes", c.limits.Frame))
	}
	if size > smallFrame && !c.announce(int64(size)) {
		return c.refuse("too much is announced and has not arrived")
	}
	c.held, c.left = c.head[:], 4+int(size)
	return nil
}

func (c *limitedConn) refuse(why string) error {
	c.limits.log.Debug("broker: a connection is closed", "from", c.RemoteAddr(), "why", why)
	return fmt.Errorf("%s: %w", why, net.ErrClosed)
}

// announce counts a large request until it has arrived, which it must in time.
func (c *limitedConn) announce(size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.limits.announced.Add(size) > int64(c.limits.Announced) {
		c.limits.announced.Add(-size)
		return false
	}
	c.large = size
	_ = c.SetReadDeadline(time.Now().Add(frameTime)) // one without deadlines is a test's
	return true
}

func (c *limitedConn) arrived() {
	c.mu.Lock()
	c.settle()
	c.mu.Unlock()
	_ = c.SetReadDeadline(time.Now().Add(c.limits.Idle)) // one without deadlines is a test's
}

func (c *limitedConn) settle() {
	c.limits.announced.Add(-c.large)
	c.large = 0
}

// Close implements io.Closer.
func (c *limitedConn) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.settle()
		if c.counts {
			c.limits.open.Add(-1)
		}
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
