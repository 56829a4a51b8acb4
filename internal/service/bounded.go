package service

import (
	"net"
	"sync"
)

// Bounds of connections at a time; zero means the default.
type Bounds struct {
	Connections int // of all clients; 16,384
	PerClient   int // of one address; 2,048
}

const (
	defaultConnections = 16_384
	defaultPerClient   = 2_048
)

// Bounded is a listener that closes connections above its bounds at once: one
// client cannot take the places of all others.
func Bounded(ln net.Listener, b Bounds) net.Listener {
	if b.Connections == 0 {
		b.Connections = defaultConnections
	}
	if b.PerClient == 0 {
		b.PerClient = defaultPerClient
	}
	return &bounded{Listener: ln, bounds: b, of: map[string]int{}}
}

type bounded struct {
	net.Listener
	bounds Bounds

	mu  sync.Mutex
	all int
	of  map[string]int // connections of each client that has any
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(conn)
		if l.enter(client) {
			return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { l.leave(client) })}, nil
		}
		_ = conn.Close() // nothing was said on it
	}
}

// clientOf is the address without its port.
func clientOf(conn net.Conn) string {
	addr := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

func (l *bounded) enter(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.bounds.Connections || l.of[client] >= l.bounds.PerClient {
		return false
	}
	l.all++
	l.of[client]++
	return true
}

func (l *bounded) leave(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[client]--; l.of[client] == 0 {
		delete(l.of, client)
	}
}

type boundedConn struct {
	net.Conn
	leave func()
}

// Close implements io.Closer.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
