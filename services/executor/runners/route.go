package runners

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// parameters are those of the URL that a runner connects to.
type parameters struct {
	pool     string // name
	key      string
	encoding frames.Encoding
}

// ServeHTTP takes the sockets of runners. Who sends no WebSocket is told what this is; who may not connect is told so before there is one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "runners connect by GET")
		return
	}
	if !upgrades(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "Runners connect here by WebSocket: docs/runner-protocol.yaml describes it, version %d.\n", frames.ProtocolVersion)
		return
	}
	if status, err := s.admit(r); err != nil {
		refuse(w, status, err.Error())
		return
	}
	s.accept(w, r)
}

func refuse(w http.ResponseWriter, status int, text string) {
	http.Error(w, text, status)
}

// upgrades reports whether a request asks for a WebSocket.
func upgrades(r *http.Request) bool {
	for _, v := range r.Header.Values("Upgrade") {
		if strings.EqualFold(strings.TrimSpace(v), "websocket") {
			return true
		}
	}
	return false
}

// admit says why a runner may not connect, with the status of HTTP. Where there are no keys, only this machine's programs connect, and
// no web page of another origin, unless it is named.
func (s *Server) admit(r *http.Request) (int, error) {
	if len(s.config.Keys) == 0 && !s.config.Insecure && !access.IsLoopback(r.Host) {
		return http.StatusForbidden, errors.New("without API keys runners of this machine connect only")
	}
	key := access.Bearer(r)
	if key == "" {
		var err error
		if key, err = frames.ParseTokenProtocol(protocols(r)); err != nil {
			return http.StatusUnauthorized, err
		}
	}
	switch err := s.config.Keys.Authorize(key, access.Write); {
	case err == nil:
		return 0, nil
	case errors.Is(err, access.ErrRole):
		return http.StatusForbidden, err
	default:
		return http.StatusUnauthorized, err
	}
}

// protocols are the sub-protocols that a request offers.
func protocols(r *http.Request) (all []string) {
	for _, v := range r.Header.Values("Sec-WebSocket-Protocol") {
		for one := range strings.SplitSeq(v, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// accept makes the socket and has it read.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	p, err := readParameters(r.URL.RawQuery)
	one := &session{server: s, parameters: p, began: s.now(), done: make(chan struct{}), stir: make(chan struct{}, 1)}
	if err == nil && !s.add(one) {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "this executor takes no more runners now")
		return
	}
	taken := &hijacked{ResponseWriter: w}
	conn, acceptErr := websocket.Accept(taken, r, &websocket.AcceptOptions{
		Subprotocols: []string{frames.Subprotocol}, OriginPatterns: patterns(s.config.Origins),
		InsecureSkipVerify: len(s.config.Keys) > 0, // a page of another origin has no key
	})
	switch {
	case acceptErr != nil: // it has been answered
		if err == nil {
			s.remove(one)
			s.reads.Done()
		}
	case err != nil:
		s.log.Info("a runner connects to a wrong URL", "client", r.RemoteAddr, "error", err)
		s.metrics.closed(frames.CloseInvalidURL.Reason)
		go s.closeSocket(conn, taken.conn, frames.CloseInvalidURL)
	default:
		conn.SetReadLimit(-1) // session.message has a limit, and closes by our own code
		one.open(conn, taken.conn)
	}
}

// hijacked remembers the connection that becomes a socket.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

// What a socket has for reading and writing: most frames of runners are small, and larger ones pass them by. The server's own buffers, of 8 KiB together,
// were half of what an idle runner costs.
const (
	readRoom  = 512
	writeRoom = 1024
)

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = conn
	n := rw.Reader.Buffered() // what a runner has sent before it was answered
	r := bufio.NewReaderSize(io.MultiReader(io.LimitReader(rw.Reader, int64(n)), conn), max(n, readRoom))
	if _, err := r.Peek(n); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, bufio.NewReadWriter(r, bufio.NewWriterSize(conn, writeRoom)), nil
}

// readParameters reads the query of the URL. What it does not know it passes.
func readParameters(query string) (p parameters, err error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return p, fmt.Errorf("the query string cannot be read: %w", err)
	}
	one := func(name string) string {
		if len(q[name]) > 1 {
			err = errors.Join(err, fmt.Errorf("%s is given more than once", name))
		}
		return q.Get(name)
	}
	version := one(frames.QueryVersion)
	p.pool, p.key = one(frames.QueryPool), one(frames.QueryKey)
	var encodingErr error
	p.encoding, encodingErr = frames.ParseEncoding(one(frames.QueryEncoding))
	err = errors.Join(err, encodingErr, events.CheckPoolName(p.pool))
	if n, versionErr := strconv.Atoi(version); versionErr != nil || n != frames.ProtocolVersion {
		err = errors.Join(err, fmt.Errorf("%s is %.40q, want %d", frames.QueryVersion, version, frames.ProtocolVersion))
	}
	if p.key == "" || len(p.key) > frames.MaxName || !utf8.ValidString(p.key) {
		err = errors.Join(err, fmt.Errorf("%s has %d bytes, want 1 to %d of UTF-8", frames.QueryKey, len(p.key), frames.MaxName))
	}
	return p, err
}
