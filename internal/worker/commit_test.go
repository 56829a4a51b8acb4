package worker_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/internal/worker/workertest"
)

// lateCommits is a network on which an answer takes long behind an OffsetCommit.
type lateCommits struct {
	dial  kafka.Dialer
	late  atomic.Int64  // nanoseconds
	asked chan struct{} // closed by the first commit that is late
}

func (n *lateCommits) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := n.dial(ctx, network, addr)
	return &lateConn{Conn: conn, n: n}, err
}

type lateConn struct {
	net.Conn
	n    *lateCommits
	next atomic.Int64 // nanoseconds
}

// Write implements net.Conn; a request begins with its size and its key, which
// is 8 for OffsetCommit.
func (c *lateConn) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == 8 {
		if late := c.n.late.Swap(0); late > 0 {
			c.next.Store(late)
			close(c.n.asked)
		}
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *lateConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	time.Sleep(time.Duration(c.next.Swap(0)))
	return n, err
}

// A worker that stops while a commit is under way waits for that one and its own
// no longer than one may take.
func TestAWorkerStopsWhileACommitIsLate(t *testing.T) {
	workertest.InBubble(t, topics.Options{Partitions: 1}, func(t *testing.T, p *workertest.Planner) {
		n := &lateCommits{dial: p.Config.Dialer, asked: make(chan struct{})}
		n.late.Store(int64(4 * time.Second))
		r := start(t, p, 1, handlers{"echo": echo}, func(c *worker.Config) { c.Kafka.Dialer = n.DialContext })
		p.Dispatch("default", 0, "w", p.Task("w", "echo", 1))
		p.Outcome(soon)
		<-n.asked
		synctest.Wait()
		began := time.Now()
		r.stop()
		if d := time.Since(began); d > 6*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		if at := p.Committed("default", 0); at != 1 {
			t.Errorf("committed %d, want 1", at)
		}
	})
}
