package conformance

import (
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
	line[frames.ToServer]
	request *http.Request
	opened  time.Time
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
	p := &peer{request: r, opened: time.Now(), line: line[frames.ToServer]{
		judge: &t.judged, conn: conn, encoding: s.encoding, in: make(chan frames.ToServer, mostWaiting), decode: frames.DecodeToServer, pulse: pinged,
	}}
	s.sockets <- p
	p.read()
}

func pinged(f frames.ToServer) bool { _, is := f.(*frames.ToServerPing); return is }

// send writes a frame.
func (p *peer) send(f frames.ToClient) { p.write(frames.EncodeToClient(p.encoding, f)) }

// offer writes a frame that a client may not wait for.
func (p *peer) offer(f frames.ToClient) {
	_ = p.line.put(frames.EncodeToClient(p.encoding, f)) // it may have closed
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
			p.judge.fail("got %T after %d events, want %d", f, len(all), n)
		}
	}
	p.judge.check(len(all) == n, "got %d events, want %d", len(all), n)
	return all
}

// state is the next event, which tells the state of an attempt.
func (p *peer) state(index int64, token string, want frames.State) *frames.TaskState {
	e := p.events(1)[0]
	s, ok := e.Inner.(*frames.TaskState)
	p.judge.check(ok && s.Token == token && s.State == want && e.Index == index, "event %d is %+v, want that %s is %s, as event %d", e.Index, e.Inner, token, want, index)
	return s
}

// run starts an attempt, and takes the event that says so.
func (p *peer) run(index, event int64, token, task, input string) {
	p.commands(command(index, token, task, input))
	p.state(event, token, frames.StateRunning)
}
