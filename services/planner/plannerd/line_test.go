package plannerd_test

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/services/planner/plannerd"
)

// line is a planner's way to the brokers, which can be cut: then connections break and
// none is made any more, as when the process is killed.
type line struct {
	dial kafka.Dialer

	mu    sync.Mutex
	conns []net.Conn
	isCut bool
}

// through lets a planner reach its brokers, and be killed, by a line of its own.
func through(c *plannerd.Config) *line {
	l := &line{dial: c.Kafka.Dialer}
	c.Kafka.Dialer, c.Killed = l.connect, faults.KilledBy(l.killed)
	return l
}

func (l *line) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if l.killed() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the line is cut")}
	}
	conn, err := l.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return nil, errors.Join(errors.New("the line is cut"), conn.Close())
	}
	l.conns = append(l.conns, conn)
	return conn, nil
}

// cut breaks every connection.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for _, conn := range l.conns {
		_ = conn.Close() // broken on purpose
	}
}

func (l *line) killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isCut
}
