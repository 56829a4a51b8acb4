package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/frames"
)

// pipes is a network in memory, which a bubble of virtual time takes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// server is the other end of a runner, as a test says.
type server struct {
	t       *testing.T
	http    *http.Server
	network *pipes
	sockets chan *peer // that were opened
	mode    frames.Encoding
	refuse  atomic.Int64 // status; 0: sockets are taken
}

// peer is a socket of the server.
type peer struct {
	t      *testing.T
	mode   frames.Encoding
	conn   *websocket.Conn
	url    string
	header http.Header
	opened time.Time
	frames chan frames.ToServer // that came; closed with the socket
	closed frames.Close         // how the runner closed it, once frames is closed
}

func newServer(t *testing.T, mode frames.Encoding) *server {
	t.Helper()
	s := &server{t: t, network: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}, sockets: make(chan *peer, 100), mode: mode}
	s.http = &http.Server{Handler: s}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := s.http.Serve(s.network); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		if err := s.http.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := int(s.refuse.Load()); status != 0 {
		http.Error(w, "no", status)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{frames.Subprotocol}})
	if err != nil {
		s.t.Error(err)
		return
	}
	conn.SetReadLimit(8 << 20)
	p := &peer{t: s.t, mode: s.mode, conn: conn, url: r.URL.String(), header: r.Header, opened: time.Now(), frames: make(chan frames.ToServer, 20_000)}
	s.sockets <- p
	p.read()
}

func (p *peer) read() {
	defer close(p.frames)
	for {
		_, b, err := p.conn.Read(context.Background())
		if err != nil {
			if c, ok := errors.AsType[websocket.CloseError](err); ok {
				p.closed = frames.Close{Code: int(c.Code), Reason: c.Reason}
			}
			return
		}
		f, err := frames.DecodeToServer(p.mode, b)
		if err != nil {
			p.t.Errorf("%s: %v", b, err)
			return
		}
		p.frames <- f
	}
}

// send writes a frame.
func (p *peer) send(f frames.ToClient) {
	p.t.Helper()
	typ := websocket.MessageText
	if p.mode == frames.Binary {
		typ = websocket.MessageBinary
	}
	if err := p.conn.Write(context.Background(), typ, frames.EncodeToClient(p.mode, f)); err != nil {
		p.t.Error(err)
	}
}

// drop ends the connection without a close frame.
func (p *peer) drop() {
	p.t.Helper()
	if err := p.conn.CloseNow(); err != nil {
		p.t.Error(err)
	}
}

func (p *peer) close(c frames.Close) {
	p.t.Helper()
	if err := p.conn.Close(websocket.StatusCode(c.Code), c.Reason); err != nil {
		p.t.Error(err)
	}
}

// got is the next frame that is no ping, which must be of its type.
func got[F frames.ToServer](t *testing.T, p *peer) F {
	t.Helper()
	timeout := time.After(10 * time.Minute)
	for {
		select {
		case f, open := <-p.frames:
			if !open {
				t.Fatalf("the socket has ended (%+v)", p.closed)
			}
			if want, ok := f.(F); ok {
				return want
			}
			if _, ping := f.(*frames.ToServerPing); !ping {
				t.Fatalf("got %T %+v", f, f)
			}
		case <-timeout:
			var want F
			t.Fatalf("no %T came", want)
		}
	}
}

// silent holds that nothing but pings has come.
func silent(t *testing.T, p *peer) {
	t.Helper()
	synctest.Wait()
	for {
		select {
		case f, open := <-p.frames:
			if !open {
				return
			}
			if _, ping := f.(*frames.ToServerPing); !ping {
				t.Errorf("got %T %+v", f, f)
			}
			continue
		default:
		}
		return
	}
}

// next is the next socket.
func (s *server) next() *peer {
	s.t.Helper()
	select {
	case p := <-s.sockets:
		return p
	case <-time.After(10 * time.Minute):
		s.t.Fatal("no socket was opened")
		return nil
	}
}

const runnerID = "r-1"

// accept takes the next socket up to its ToClientInit.
func (s *server) accept(id string, lastEvent int64) (*peer, *frames.ToServerInit) {
	s.t.Helper()
	p := s.next()
	init := got[*frames.ToServerInit](s.t, p)
	p.init(id, lastEvent)
	return p, init
}

func (p *peer) init(id string, lastEvent int64) {
	p.send(&frames.ToClientInit{RunnerID: id, LastEventIdx: lastEvent, Metadata: frames.Terms{RunnerLostThreshold: 15_000, PingTimeout: 15_000,
		Limits: frames.Limits{MaxPayload: frames.DefaultMaxPayload}}})
}

// start starts an attempt as the command of an index; its token is its name.
func (p *peer) start(index int64, token string) {
	p.t.Helper()
	p.send(&frames.ToClientCommands{Commands: []frames.Command{startOf(index, token)}})
}

func startOf(index int64, token string) frames.Command {
	return frames.Command{Index: index, Inner: &frames.StartTask{Token: token, Attempt: 1, Task: work.Name(), Workflow: "w", Component: "c", Input: []byte(`"` + token + `"`)}}
}

// state is the next event, which says something of an attempt's state.
func state(t *testing.T, p *peer) (int64, *frames.TaskState) {
	t.Helper()
	e := got[*frames.ToServerEvents](t, p).Events
	if len(e) != 1 {
		t.Fatalf("got %d events, want one", len(e))
	}
	s, ok := e[0].Inner.(*frames.TaskState)
	if !ok {
		t.Fatalf("got %+v, want a state", e[0].Inner)
	}
	return e[0].Index, s
}

var work = task.Define[string, string]("tests.work")

// program is a runner and the functions of its task, which end as a test says.
type program struct {
	*runner.Runner
	t      *testing.T
	begun  chan string // tokens' names, as functions begin
	finish map[string]chan error
	mu     sync.Mutex
	done   chan error // of Run
	stop   context.CancelFunc
	told   chan string // callbacks
}

// function ends when the test says so, or its context does.
func (p *program) function(ctx context.Context, name string) (string, error) {
	p.begun <- name
	select {
	case err := <-p.end(name):
		return "did " + name, err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (p *program) end(name string) chan error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finish[name] == nil {
		p.finish[name] = make(chan error, 1)
	}
	return p.finish[name]
}

// run starts a runner of a server.
func run(t *testing.T, s *server, change func(*runner.Options)) *program {
	t.Helper()
	p := &program{t: t, begun: make(chan string, 1000), finish: map[string]chan error{}, done: make(chan error, 1), told: make(chan string, 100)}
	o := runner.Options{
		Logger: slog.New(slog.DiscardHandler),
		URL:    "http://server", Pool: "images", Key: "k", Name: "n", Version: 3, Slots: 1000, Dialer: s.network.dial, Binary: s.mode == frames.Binary,
		OnConnected:    func(id string) { p.told <- "connected " + id },
		OnDisconnected: func(string) { p.told <- "disconnected" },
		OnShutdown:     func() { p.told <- "shutdown" },
	}
	if change != nil {
		change(&o)
	}
	r, err := runner.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.Runner = r
	runner.Handle(r, work, p.function)
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() { p.done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); r.StopNow() })
	return p
}

// ended waits for the end of Run.
func (p *program) ended() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(10 * time.Minute):
		p.t.Fatal("the runner goes on")
		return nil
	}
}

// within runs a case in virtual time, in both encodings.
func within(t *testing.T, test func(t *testing.T, s *server)) {
	for _, mode := range []frames.Encoding{frames.JSON, frames.Binary} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newServer(t, mode)) })
		})
	}
}
