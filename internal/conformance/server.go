package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/frames"
)

// server is what the client connects to.
type server struct {
	http     *http.Server
	listener net.Listener
	sockets  chan *peer
	encoding frames.Encoding
	status   atomic.Int64  // that upgrades are refused with; 0: they are taken
	holding  atomic.Bool   // upgrades wait
	released chan struct{} // closed when they do not wait any more
	asked    chan struct{} // has one for each request
}

// peer is a socket of the client.
type peer struct {
	t        *trial
	conn     *websocket.Conn
	encoding frames.Encoding
	request  *http.Request
	opened   time.Time
	in       chan frames.ToServer // closed when the socket has ended
	closed   frames.Close         // by the client; set before in is closed
	err      error                // of a frame that cannot be read
}

func (t *trial) serve() error {
	var config net.ListenConfig
	l, err := config.Listen(t.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &server{listener: l, sockets: make(chan *peer, 100), encoding: t.options.Encoding, asked: make(chan struct{}, 1000), released: make(chan struct{})}
	s.http = &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.upgrade(t, w, r) })}
	t.server = s
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // a listener of ours that fails
		}
	}()
	return nil
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

func (s *server) close() {
	close(s.released)
	if err := s.http.Close(); err != nil {
		return // the listener is gone already
	}
}

func (s *server) upgrade(t *trial, w http.ResponseWriter, r *http.Request) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	if s.holding.Load() {
		<-s.released
	}
	if status := int(s.status.Load()); status != 0 {
		http.Error(w, "refused by the case", status)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{frames.Subprotocol}, InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(frames.DefaultMaxPayload)
	p := &peer{t: t, conn: conn, encoding: s.encoding, request: r, opened: time.Now(), in: make(chan frames.ToServer, 10_000)}
	s.sockets <- p
	p.read()
}

func (p *peer) read() {
	defer close(p.in)
	for {
		_, b, err := p.conn.Read(context.Background())
		if err != nil {
			if c, ok := errors.AsType[websocket.CloseError](err); ok {
				p.closed = frames.Close{Code: int(c.Code), Reason: c.Reason}
			}
			return
		}
		f, err := frames.DecodeToServer(p.encoding, b)
		if err != nil {
			p.err = err
			return
		}
		p.in <- f
	}
}

// send writes a frame.
func (p *peer) send(f frames.ToClient) {
	typ := websocket.MessageText
	if p.encoding == frames.Binary {
		typ = websocket.MessageBinary
	}
	if err := p.conn.Write(p.t.ctx, typ, frames.EncodeToClient(p.encoding, f)); err != nil {
		p.t.fail("the socket takes no frame: %v", err)
	}
}

// drop ends the connection without a close frame.
func (p *peer) drop() {
	if err := p.conn.CloseNow(); err != nil {
		p.t.fail("the socket was closed already: %v", err)
	}
}

// close ends the socket with a close frame.
func (p *peer) close(c frames.Close) {
	if err := p.conn.Close(websocket.StatusCode(c.Code), c.Reason); err != nil {
		p.t.fail("the close %s was not answered: %v", c.Reason, err)
	}
}

// next is the next socket, however long the client waits before it connects.
func (t *trial) next() *peer {
	select {
	case p := <-t.server.sockets:
		return p
	case <-t.client.done:
		t.fail("the client exits: %v", t.client.err)
	case <-time.After(patience + t.scaled(time.Minute)):
		t.fail("the client opens no socket")
	}
	return nil
}

// none ends the case if there is another socket within d.
func (t *trial) none(d time.Duration) {
	select {
	case <-t.server.sockets:
		t.fail("the client opens another socket")
	case <-time.After(d):
	}
}

// frame is the next frame that is no ping; nil: the socket has ended.
func (p *peer) frame(limit time.Duration) frames.ToServer {
	timeout := time.After(limit)
	for {
		select {
		case f, open := <-p.in:
			if !open {
				p.t.check(p.err == nil, "%v", p.err)
				return nil
			}
			if _, ping := f.(*frames.ToServerPing); !ping {
				return f
			}
		case <-timeout:
			p.t.fail("nothing comes for %v", limit)
		}
	}
}

// want is the next frame that is no ping, which must be of its type.
func want[F frames.ToServer](p *peer) F {
	f := p.frame(patience)
	if f == nil {
		p.t.fail("the socket is closed with %+v, want %T", p.closed, *new(F))
	}
	wanted, ok := f.(F)
	p.t.check(ok, "got %T, want %T", f, *new(F))
	return wanted
}

// ended waits for the end of the socket; other frames before it are passed.
func (p *peer) ended(limit time.Duration) frames.Close {
	timeout := time.After(limit)
	for {
		select {
		case _, open := <-p.in:
			if !open {
				p.t.check(p.err == nil, "%v", p.err)
				return p.closed
			}
		case <-timeout:
			p.t.fail("the socket is not closed after %v", limit)
		}
	}
}

// silent ends the case if a frame that is no ping comes within d.
func (p *peer) silent(d time.Duration) {
	timeout := time.After(d)
	for {
		select {
		case f, open := <-p.in:
			if !open {
				p.t.fail("the socket is closed with %+v", p.closed)
			}
			_, ping := f.(*frames.ToServerPing)
			p.t.check(ping, "got %T, want nothing", f)
		case <-timeout:
			return
		}
	}
}

const runnerID = "runner-1"

// accept takes the next socket up to its ToClientInit, and answers pings.
func (t *trial) accept(id string, lastEvent int64) (*peer, *frames.ToServerInit) {
	p := t.next()
	init := want[*frames.ToServerInit](p)
	p.init(id, lastEvent, longLost)
	return p, init
}

// Times that the server says: long ones, unless a case is about them.
const (
	longLost    = time.Minute
	pingTimeout = time.Minute
)

func (p *peer) init(id string, lastEvent int64, lost time.Duration) {
	p.terms(id, lastEvent, lost, pingTimeout)
}

func (p *peer) terms(id string, lastEvent int64, lost, silence time.Duration) {
	p.send(&frames.ToClientInit{RunnerID: id, LastEventIdx: lastEvent, Metadata: frames.Terms{
		RunnerLostThreshold: lost.Milliseconds(), PingTimeout: silence.Milliseconds(),
		Limits: frames.Limits{MaxPayload: frames.DefaultMaxPayload, MaxKvKeys: frames.MaxKvKeys, MaxKvKey: frames.MaxKvKey, MaxKvValue: frames.MaxKvValue, MaxTunnelBody: frames.MaxTunnelBody},
	}})
}

// begin starts the client up to its first ToClientInit.
func (t *trial) begin() *peer {
	t.start()
	p, _ := t.accept(runnerID, -1)
	return p
}

// command is the start of an attempt.
func command(index int64, token, task, input string) frames.Command {
	return frames.Command{Index: index, Inner: &frames.StartTask{
		Token: token, Attempt: 1, Task: "conformance." + task, Workflow: "w", Component: "c", Input: []byte(input), IdempotencyKey: "w/" + token,
	}}
}

func (p *peer) commands(all ...frames.Command) { p.send(&frames.ToClientCommands{Commands: all}) }

func stop(index int64, token string) frames.Command {
	return frames.Command{Index: index, Inner: &frames.StopTask{Token: token, Reason: frames.StopCancelled}}
}

// events are the next n events, whatever frames they come in; acknowledgements are passed.
func (p *peer) events(n int) []frames.Event {
	var all []frames.Event
	for len(all) < n {
		switch f := p.frame(patience).(type) {
		case *frames.ToServerEvents:
			all = append(all, f.Events...)
		case *frames.ToServerAckCommands:
		default:
			p.t.fail("got %T after %d events, want %d", f, len(all), n)
		}
	}
	p.t.check(len(all) == n, "got %d events, want %d", len(all), n)
	return all
}

// state is the next event, which tells the state of an attempt.
func (p *peer) state(index int64, token string, want frames.State) *frames.TaskState {
	e := p.events(1)[0]
	s, ok := e.Inner.(*frames.TaskState)
	p.t.check(ok && s.Token == token && s.State == want && e.Index == index, "event %d is %+v, want that %s is %s, as event %d", e.Index, e.Inner, token, want, index)
	return s
}

// run starts an attempt, and takes the event that says so.
func (p *peer) run(index, event int64, token, task, input string) {
	p.commands(command(index, token, task, input))
	p.state(event, token, frames.StateRunning)
}
