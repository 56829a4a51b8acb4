package runners

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// phase is how far a socket has come.
type phase uint8

const (
	opened   phase = iota // its first frame is waited for
	greeting              // the pool is asked for its session
	serving               // it has one
	gone                  // there is no socket any more; the pool may not know yet
)

// session is one socket, until the pool knows that it is gone.
type session struct {
	parameters
	server *Server
	number uint64
	conn   *websocket.Conn
	raw    net.Conn      // below conn
	began  time.Duration // as Server.now, as all times of a session

	heard    atomic.Int64           // when something came
	hung     atomic.Bool            // the close frame is written, or was
	shard    atomic.Pointer[string] // id of the shard of the pool that is asked for the session, or has it; nil: none was asked yet
	paused   atomic.Bool            // nothing is read for a reason of ours: its silence means nothing
	carrying atomic.Int64           // bytes of messages of tunnels that Kafka has not acknowledged
	done     chan struct{}          // closed once the socket is to be closed
	stir     chan struct{}          // something that the reader waits for may be so

	mu      sync.Mutex
	phase   phase
	name    string // of the runner, for people
	of      events.Connection
	runner  string // id of the session
	session uint64 // its number in the pool
	silent  bool   // the pool was told that it is
	greeted time.Duration
	hello   *events.RunnerHello // until the pool has answered
	pulsed  time.Duration       // when it was told last that its server is there

	nextEvent   uint64        // index of the next event that is new
	nextCommand uint64        // likewise
	closing     *frames.Close // nil: it is open
	out         outgoing
	tells       telling
}

// open has a socket read.
func (s *session) open(conn *websocket.Conn, raw net.Conn) {
	s.of = events.Connection{Executor: s.server.id, Number: s.number}
	s.hear()
	s.mu.Lock()
	s.conn, s.raw = conn, raw
	closing := s.closing
	s.mu.Unlock()
	if closing != nil { // while there was no socket yet
		s.hangUp()
	}
	s.server.metrics.opened(s.pool)
	go func() {
		defer s.server.reads.Done()
		s.end(s.run())
	}()
}

// entity is the id of the pool, or of the shard of it that has the session.
func (s *session) entity() string {
	if shard := s.shard.Load(); shard != nil {
		return *shard
	}
	return events.PoolOf(s.pool)
}

func (s *session) hear() { s.heard.Store(int64(s.server.now())) }

// run reads the socket to its end, and says why that came.
func (s *session) run() (why string) {
	defer func() {
		if v := recover(); v != nil {
			s.server.log.Error("a runner's frame made this program panic", "pool", s.pool, "runner", s.key, "panic", v, "stack", string(debug.Stack()))
			s.shut(frames.CloseInvalidPacket)
			why = "a frame of it could not be dealt with"
		}
	}()
	for {
		kind, r, err := s.conn.Reader(context.Background())
		if err != nil {
			return s.why(err)
		}
		buf := buffers.Get().(*[]byte)
		b, err := s.message(r, (*buf)[:0])
		if errors.Is(err, errTooLarge) {
			s.shut(frames.CloseInvalidPacket)
			return err.Error()
		} else if err != nil {
			return s.why(err)
		}
		s.hear()
		if kept := s.receive(kind, b); !kept && cap(b) <= maxRoom {
			*buf = b
			buffers.Put(buf)
		}
		if !s.wait() {
			return s.why(nil)
		}
	}
}

// maxRoom bounds the bytes of a buffer that is used again.
const maxRoom = 64 << 10

// buffers are for frames while they are dealt with: a socket that is silent has none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

var errTooLarge = errors.New("a frame of it was too large")

// message reads a frame's bytes behind b.
func (s *session) message(r io.Reader, b []byte) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if n > 0 && s.started() {
			s.hear()
		}
		switch {
		case int64(len(b)) > s.server.config.Limits.MaxPayload:
			return b, errTooLarge
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// started reports whether its first frame has come.
func (s *session) started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase != opened
}

// wait waits until the socket may be read on: the pool has answered, and not too much of what the runner has said is on its
// way. It is false once the socket is to be closed.
func (s *session) wait() bool {
	for s.full() {
		s.paused.Store(true)
		select {
		case <-s.stir:
		case <-s.done:
		}
		s.hear()
		s.paused.Store(false)
		select {
		case <-s.done:
			return false
		default:
		}
	}
	return true
}

func (s *session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil {
		return false // what comes until the runner has closed, too, is passed
	}
	l := s.server.config.Limits
	carrying := s.carrying.Load()
	return s.phase == greeting || s.tells.events > l.Events || carrying > l.Tunnel || s.tells.events+int(carrying) > 0 && s.server.held.Load() > l.Bytes
}

// stirred lets the reader look again.
func (s *session) stirred() {
	select {
	case s.stir <- struct{}{}:
	default:
	}
}

// shut closes the socket: what is to be written is, then comes the close frame. What comes of the runner from now on is passed.
func (s *session) shut(c frames.Close) {
	s.mu.Lock()
	if s.closing != nil || s.phase == gone {
		s.mu.Unlock()
		return
	}
	s.closing = &c
	close(s.done)
	there, writing := s.conn != nil, s.out.writing
	s.mu.Unlock()
	s.server.metrics.closed(c.Reason)
	switch {
	case there && writing: // the writer hangs up, if the runner reads
		time.AfterFunc(s.server.config.Times.Close, s.hangUp)
	case there:
		s.hangUp()
	}
}

// hangUp writes the close frame and waits for the runner's, but not for long.
func (s *session) hangUp() {
	if !s.hung.CompareAndSwap(false, true) {
		return
	}
	s.mu.Lock()
	c := *s.closing
	s.mu.Unlock()
	go s.server.closeSocket(s.conn, s.raw, c)
}

// closeSocket closes a socket within twice the time for it, whatever its runner does.
func (s *Server) closeSocket(conn *websocket.Conn, raw net.Conn, c frames.Close) {
	cut := time.AfterFunc(2*s.config.Times.Close, func() { _ = raw.Close() }) // it may be closed already
	defer cut.Stop()
	if err := conn.Close(websocket.StatusCode(c.Code), c.Reason); err != nil {
		s.log.Debug("a runner's socket was closed without its runner's word", "reason", c.Reason, "error", err)
	}
}

// why says why a socket has ended, of which err was read.
func (s *session) why(err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil {
		return s.closing.Reason
	}
	if c, ok := errors.AsType[websocket.CloseError](err); ok {
		s.server.metrics.closed("by runner")
		return events.Cut(fmt.Sprintf("the runner closed it: %d %s", c.Code, c.Reason), maxWhy)
	}
	s.server.metrics.closed("broken")
	return "its connection broke"
}

// maxWhy bounds the bytes of the reason that a pool is told.
const maxWhy = 200

// end is behind the last frame of a socket. The session stays until its pool knows.
func (s *session) end(why string) {
	s.mu.Lock()
	closing := s.closing != nil
	s.phase = gone
	if !closing {
		close(s.done)
	}
	s.out.drop()
	s.tells.next.Closed = why
	known := s.runner != ""
	s.mu.Unlock()
	s.server.metrics.left(s.pool)
	if !closing {
		_ = s.raw.Close() // it may be closed already
		_ = s.conn.CloseNow()
	}
	if !known { // if it gets a session yet, the pool is told then: see Server.orphan
		s.server.remove(s)
		return
	}
	s.server.log.Debug("a runner's socket is gone", "pool", s.pool, "runner", s.key, "why", why)
	s.flush()
}

func (s *session) socket() Socket {
	return Socket{Connection: s.of, Pool: s.pool, Runner: s.runner}
}
