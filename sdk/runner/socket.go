package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/frames"
)

// maxFrame is how many bytes a frame of the server may have: a batch of commands brings many inputs.
const maxFrame = 256 << 20

// patience is how long one frame may take to be written, and a socket to be closed.
const patience = 15 * time.Second

// dialer opens the sockets of a runner.
type dialer struct {
	url       string
	encoding  frames.Encoding
	options   websocket.DialOptions
	transport *http.Transport
}

func newDialer(o *Options) (*dialer, error) {
	url, err := o.address()
	if err != nil {
		return nil, err
	}
	d := &dialer{url: url, transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, DialContext: o.Dialer}}
	d.options = websocket.DialOptions{
		HTTPClient: &http.Client{Transport: d.transport}, HTTPHeader: http.Header{}, Subprotocols: []string{frames.Subprotocol},
	}
	if o.Token != "" {
		d.options.HTTPHeader.Set("Authorization", "Bearer "+o.Token)
	}
	if o.Binary {
		d.encoding = frames.Binary
	}
	return d, nil
}

func (d *dialer) close() { d.transport.CloseIdleConnections() }

// socket is one connection, from the wish to have it to its end.
type socket struct {
	loop   *loop
	dial   context.Context
	cancel context.CancelFunc // of dial
	out    queue              // to be written
	bye    chan frames.Close  // the close that is wanted
	ended  chan struct{}      // closed when nothing more can be read
	gone   chan struct{}      // closed when nothing of it runs any more
}

// dial wants a socket. The one before is closed first.
func (l *loop) dial() {
	s := &socket{
		loop: l, out: queue{more: make(chan struct{}, 1)}, bye: make(chan frames.Close, 1),
		ended: make(chan struct{}), gone: make(chan struct{}),
	}
	s.dial, s.cancel = context.WithCancel(context.Background())
	before := l.last
	l.socket, l.last = s, s
	go s.live(before)
}

// post hands something that has happened to the socket to the loop, which passes it once it has done with the
// socket; false: the loop hears nothing any more.
func (s *socket) post(f func()) bool {
	return s.loop.post(func() {
		if s.loop.socket == s {
			f()
		}
	})
}

// live opens the socket and serves it until it ends.
func (s *socket) live(before *socket) {
	defer close(s.gone)
	defer s.cancel()
	if before != nil {
		<-before.gone
	}
	l := s.loop
	conn, response, err := websocket.Dial(s.dial, l.dialer.url, &l.dialer.options)
	if err != nil {
		s.post(func() { l.broken(frames.Close{}, refused(response, err)) })
		return
	}
	conn.SetReadLimit(maxFrame)
	if !s.post(func() { l.session.Opened(time.Now()) }) {
		s.cut(conn)
		return
	}
	written := make(chan struct{})
	go func() { defer close(written); s.write(conn) }()
	s.read(conn)
	close(s.ended)
	<-written
}

// cut ends the connection without a word.
func (s *socket) cut(conn *websocket.Conn) {
	if err := conn.CloseNow(); err != nil {
		s.loop.log.Debug("a socket was closed already", "error", err)
	}
}

// refused says why there is no socket.
func refused(r *http.Response, err error) error {
	if r != nil && r.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the server answers %s: %w", r.Status, err)
	}
	return err
}

func (s *socket) read(conn *websocket.Conn) {
	l := s.loop
	for {
		typ, b, err := conn.Read(context.Background()) // ends with conn, which write closes
		if err != nil {
			s.post(func() { l.broken(closeOf(err), err) })
			return
		}
		f, err := l.dialer.decode(typ, b)
		if err != nil {
			s.close(frames.CloseInvalidPacket)
			s.post(func() { l.broken(frames.Close{}, err) })
			continue // until the close is answered
		}
		s.post(func() { l.session.Received(time.Now(), f) })
	}
}

// frameType is what the frames of the runner's encoding are to a WebSocket.
func (d *dialer) frameType() websocket.MessageType {
	if d.encoding == frames.Binary {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

func (d *dialer) decode(typ websocket.MessageType, b []byte) (frames.ToClient, error) {
	if typ != d.frameType() {
		return nil, fmt.Errorf("a frame of the server is not %v", d.encoding)
	}
	return frames.DecodeToClient(d.encoding, b)
}

// closeOf is the close frame of an error; zero: there was none.
func closeOf(err error) frames.Close {
	if c, ok := errors.AsType[websocket.CloseError](err); ok {
		return frames.Close{Code: int(c.Code), Reason: c.Reason}
	}
	return frames.Close{}
}

// write writes frames until the socket is to be closed, or has ended, and closes it.
func (s *socket) write(conn *websocket.Conn) {
	for {
		select {
		case <-s.out.more:
			if !s.writeAll(conn) {
				s.gaveUp(conn)
				return
			}
		case c := <-s.bye:
			s.leave(conn, c)
			return
		case <-s.ended:
			s.cut(conn)
			return
		}
	}
}

// writeAll writes what waits; false: it cannot be written.
func (s *socket) writeAll(conn *websocket.Conn) bool {
	for _, f := range s.out.take() {
		if s.writeOne(conn, f) != nil {
			return false
		}
	}
	return true
}

// gaveUp lets the reader say why nothing can be written: the server's close frame may have come.
func (s *socket) gaveUp(conn *websocket.Conn) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
	}
	s.cut(conn)
}

func (s *socket) writeOne(conn *websocket.Conn, f frames.ToServer) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d := s.loop.dialer
	return conn.Write(ctx, d.frameType(), frames.EncodeToServer(d.encoding, f))
}

// leave writes what was sent before the close, and closes. Who has not answered for long is not waited for.
func (s *socket) leave(conn *websocket.Conn, c frames.Close) {
	if c == frames.ClosePingTimeout || c == frames.CloseInitTimeout {
		s.cut(conn)
		return
	}
	if !s.writeAll(conn) {
		s.gaveUp(conn)
		return
	}
	if err := conn.Close(websocket.StatusCode(c.Code), c.Reason); err != nil {
		s.loop.log.Debug("the close of a socket was not answered", "error", err)
	}
}

// close wants the close frame c, unless another one is wanted already.
func (s *socket) close(c frames.Close) {
	select {
	case s.bye <- c:
	default:
	}
}

// send writes a frame, soon.
func (l *loop) send(f frames.ToServer) {
	if l.socket != nil {
		l.socket.out.put(f)
	}
}

// queue is what waits to be written. Its bound is that of what the session keeps in any case: events that are not
// acknowledged, and the requests of attempts.
type queue struct {
	mu   sync.Mutex
	all  []frames.ToServer
	more chan struct{} // has one if there may be something
}

func (q *queue) put(f frames.ToServer) {
	q.mu.Lock()
	q.all = append(q.all, f)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func (q *queue) take() []frames.ToServer {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.all
	q.all = nil
	return all
}

// hangup closes the socket; nothing is heard of it any more.
func (l *loop) hangup(c frames.Close) {
	if l.socket != nil {
		l.socket.close(c)
		l.socket.cancel()
		l.socket = nil
	}
}

// broken is the end of the socket.
func (l *loop) broken(c frames.Close, err error) {
	l.log.Debug("a socket has ended", "error", err)
	l.socket = nil
	l.session.Broken(time.Now(), c)
}
