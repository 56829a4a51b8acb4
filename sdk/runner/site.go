package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/tunnel/joint"
	"github.com/heddle-run/heddle/shared/frames"
)

// site serves the requests to an attempt: an HTTP server of the process's own, which no network reaches, and a client that puts the messages of
// tunnels to it. So handlers have whatever a server gives them, and WebSockets any library.
type site struct {
	attempt   *attempt
	server    *http.Server
	transport *http.Transport
	conns     chan net.Conn
	done      chan struct{} // closed with the site
	closing   sync.Once
}

func newSite(ctx context.Context, a *attempt, h http.Handler) *site {
	s := &site{attempt: a, conns: make(chan net.Conn), done: make(chan struct{})}
	s.server = &http.Server{
		Handler: h, BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: patience,
		ErrorLog: slog.NewLogLogger(a.loop.log.Handler(), slog.LevelWarn),
	}
	s.transport = &http.Transport{
		DialContext:       s.dial,
		DisableKeepAlives: true, // a request over a connection that was used before might be sent twice
		// A client of the gateway decompresses by itself.
		DisableCompression: true,
	}
	go func() {
		if err := s.server.Serve(s); !errors.Is(err, http.ErrServerClosed) {
			a.loop.log.Error("requests to an attempt are not served any more", "task", a.task.Task, "error", err)
		}
	}()
	return s
}

// Accept implements net.Listener.
func (s *site) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *site) Close() error {
	s.closing.Do(func() { close(s.done) })
	return nil
}

// Addr implements net.Listener.
func (s *site) Addr() net.Addr { return &net.UnixAddr{Name: "tunnel", Net: "tunnel"} }

func (s *site) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case s.conns <- there:
		return pipe{here}, nil
	case <-s.done:
		return nil, errEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pipe is the client's end of a connection to the handler. A handler may answer and go before it has read all of a body: what is written to
// it then goes nowhere, as the client would take the failure for that of the request, and not wait for the answer. If there is none, it reads so.
type pipe struct{ net.Conn }

// Write implements net.Conn.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		return len(b), nil
	}
	return n, err
}

// close ends all requests. It does not wait for handlers.
func (s *site) close() {
	if err := s.server.Close(); err != nil {
		s.attempt.loop.log.Debug("connections to an attempt's handler were closed already", "error", err)
	}
	_ = s.Close() // it has no error
	s.transport.CloseIdleConnections()
}

// serve serves a request in a goroutine of its own.
func (s *site) serve(v *visit) {
	s.attempt.loop.group.Go(func() {
		first, err := v.Next(v.ctx)
		switch m := first.(type) {
		case *frames.RequestStart:
			err = s.answer(v, m)
		case *frames.WebSocketOpen:
			err = s.open(v, m)
		}
		v.over(err)
	})
}

// answer has the handler answer a request.
func (s *site) answer(v *visit, start *frames.RequestStart) error {
	body := &requestBody{visit: v}
	r, err := http.NewRequestWithContext(v.ctx, start.Method, "http://attempt"+start.Path, body)
	if err != nil {
		return fmt.Errorf("the request cannot be made: %w", err)
	}
	r.ContentLength = -1
	headersInto(start.Headers, r.Header)
	setHost(r)
	if n := r.Header.Get("Content-Length"); n != "" {
		if _, err := fmt.Sscan(n, &r.ContentLength); err != nil || r.ContentLength < 0 {
			return fmt.Errorf("the length %.40q is none", n)
		}
	}
	if r.ContentLength == 0 {
		r.Body = http.NoBody
	}
	response, err := s.transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("the handler does not answer: %w", err)
	}
	defer response.Body.Close()
	if err := v.Send(v.ctx, &frames.ResponseStart{Status: uint32(response.StatusCode), Headers: headersOf(response.Header)}); err != nil {
		return err
	}
	return copyBody(v, response.Body)
}

// chunk is how many bytes of a body a message has at most.
const chunk = 32 << 10

func copyBody(v *visit, body io.Reader) error {
	buf := make([]byte, chunk)
	for {
		n, err := body.Read(buf)
		if n > 0 { // what is sent is kept until it is acknowledged
			if err := v.Send(v.ctx, &frames.ResponseChunk{Body: append([]byte(nil), buf[:n]...)}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return v.Send(v.ctx, &frames.ResponseEnd{})
		case err != nil:
			return fmt.Errorf("the handler ends its answer early: %w", err)
		}
	}
}

// requestBody is what the client sends of a body.
type requestBody struct {
	visit *visit
	rest  []byte
	err   error
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		m, err := b.visit.Next(b.visit.ctx)
		switch m := m.(type) {
		case *frames.RequestChunk:
			b.rest = m.Body
		case *frames.RequestEnd:
			b.err = io.EOF
		default:
			b.err = err
			if err == nil {
				b.err = fmt.Errorf("a body has no %T", m)
			}
		}
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *requestBody) Close() error { return nil }

// open has the handler take a WebSocket, and passes its messages on.
func (s *site) open(v *visit, open *frames.WebSocketOpen) error {
	header := http.Header{}
	headersInto(open.Headers, header)
	o := &websocket.DialOptions{HTTPClient: &http.Client{Transport: s.transport}, HTTPHeader: header, Host: header.Get("Host")}
	header.Del("Host")
	for _, line := range header.Values("Sec-Websocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			o.Subprotocols = append(o.Subprotocols, strings.TrimSpace(p))
		}
	}
	header.Del("Sec-Websocket-Protocol")
	conn, response, err := websocket.Dial(v.ctx, "ws://attempt"+open.Path, o) //nolint:bodyclose // an upgrade has none, and Dial has read that of a refusal
	if err != nil {
		return fmt.Errorf("the handler takes no WebSocket: %w", refused(response, err))
	}
	defer func() { _ = conn.CloseNow() }() // it is closed, as a rule
	answer := &frames.WebSocketOpen{Headers: headersOf(response.Header), Protocol: conn.Subprotocol()}
	if err := v.Send(v.ctx, answer); err != nil {
		return err
	}
	return joint.Join(v.ctx, conn, v)
}

func headersInto(all []frames.Header, to http.Header) {
	for _, h := range all {
		to.Add(h.Name, h.Value)
	}
}

// setHost makes the header Host what a request calls so, and keeps the client from naming itself.
func setHost(r *http.Request) {
	r.Host = r.Header.Get("Host")
	r.Header.Del("Host")
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""}
	}
}

func headersOf(from http.Header) []frames.Header {
	var all []frames.Header
	for name, values := range from { // order: of headers of different names there is none
		for _, v := range values {
			all = append(all, frames.Header{Name: name, Value: strings.ToValidUTF8(v, "\uFFFD")})
		}
	}
	return all
}

// now is the time as the session is told it.
func (l *loop) now() time.Time { return time.Now() }
