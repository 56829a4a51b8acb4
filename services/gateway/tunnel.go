package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/services/gateway/calls"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

func tunnelRoutes() []route {
	var all []route
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		all = append(all, route{
			method: method, path: "/v1/workflows/{id}/tasks/{token}/tunnel/{path}", name: strings.ToLower(method) + "Tunnel", role: Write, tunnel: true,
			about:   "Passes the request on to a running attempt at a runner, with what stands behind tunnel as its path, and its answer back; GET also opens a WebSocket to it. The path may have any number of parts. Authorization, cookies and headers of proxies are not passed on.",
			answers: []answer{{200, "what the attempt answers, with its status", nil, "*/*"}}, handle: (*Gateway).tunnel,
		})
	}
	return all
}

// tunnel passes a request on to the attempt of the path.
func (g *Gateway) tunnel(w http.ResponseWriter, r *http.Request) error {
	id, err := pathValue(r, "id")
	if err != nil {
		return err
	}
	token, err := pathValue(r, "token")
	if err != nil {
		return err
	}
	headers, err := passedOn(r)
	if err != nil {
		return err
	}
	path, err := tunnelPath(r)
	if err != nil {
		return err
	}
	at, find, err := g.locate(r.Context(), id, token)
	if err != nil {
		return err
	}
	begin := func(first frames.TunnelMessage) (*calls.Call, error) { return g.calls.Call(at, find, first) }
	if isUpgrade(r) {
		return g.tunnelSocket(w, r, begin, &frames.WebSocketOpen{Token: token, Path: path, Headers: headers})
	}
	call, err := begin(&frames.RequestStart{Token: token, Method: r.Method, Path: path, Headers: headers})
	if err != nil {
		return tunnelProblem(err)
	}
	return g.exchange(w, r, call)
}

// tunnelPath is the path behind the tunnel's own, with the query, as the client has written them.
func tunnelPath(r *http.Request) (string, error) {
	_, rest, _ := strings.Cut(r.URL.EscapedPath(), "/tasks/"+chi.URLParam(r, "token")+"/tunnel")
	if r.URL.RawQuery != "" {
		rest += "?" + r.URL.RawQuery
	}
	if len(rest) > frames.MaxTunnelPath {
		return "", refuse("uri_too_long", fmt.Sprintf("the path and the query have %d bytes, the limit is %d", len(rest), frames.MaxTunnelPath))
	}
	return rest, nil
}

// locate finds the runner that has an attempt. find does so again, later.
func (g *Gateway) locate(ctx context.Context, id, token string) (at tunnel.Place, find calls.Find, err error) {
	sealed, err := events.ParseTokenText(token)
	if err == nil {
		var of events.Token
		if of, err = events.PeekToken(sealed); err == nil && of.Workflow != id {
			err = events.ErrToken
		}
	}
	if err != nil {
		return at, nil, refuse("not_found", "the workflow has no attempt with this token")
	}
	ctx, cancel := context.WithTimeout(ctx, g.limits.Answer)
	defer cancel()
	body, err := g.requests.Read(ctx, events.Query{Kind: events.AttemptQuery, Workflow: id, Filter: token})
	var place events.AttemptPlace
	if err == nil {
		err = json.Unmarshal(body, &place)
	}
	switch {
	case err != nil:
		return at, nil, err
	case place.Pool == "":
		return at, nil, refuse("not_at_runner", "the attempt is for workers of its queue, which have no tunnels")
	}
	find = func(ctx context.Context) (tunnel.Place, error) { return g.placeOf(ctx, place.Pool, token) }
	if at, err = find(ctx); errors.Is(err, tunnel.ErrEnded) {
		err = refuse("not_at_runner", fmt.Sprintf("no runner of the pool %q has the attempt now", place.Pool))
	}
	return at, find, err
}

// placeOf is where a pool has an attempt. What has not begun yet has no socket, as far as requests are concerned.
func (g *Gateway) placeOf(ctx context.Context, pool, token string) (tunnel.Place, error) {
	body, err := g.requests.Read(ctx, events.Query{Kind: events.AttemptQuery, Workflow: events.PoolOf(pool), Filter: token})
	if refused, is := errors.AsType[*request.RefusedError](err); is && refused.Reply.Refusal.Code == "not_found" {
		return tunnel.Place{}, tunnel.ErrEnded
	}
	var work events.PoolWork
	if err == nil {
		err = json.Unmarshal(body, &work)
	}
	if err != nil {
		return tunnel.Place{}, fmt.Errorf("asking the pool %s for an attempt: %w", pool, err)
	}
	at := tunnel.Place{Pool: pool, Runner: work.Runner}
	switch work.State {
	case "running":
		at.Executor, at.Number = work.Executor, work.Connection
	case "starting":
	default:
		return tunnel.Place{}, tunnel.ErrEnded
	}
	return at, nil
}

// tunnelProblem is why a call could not be made, or has ended before the attempt has answered.
func tunnelProblem(err error) error {
	aborted, is := errors.AsType[*tunnel.AbortedError](err)
	switch {
	case is:
		return refuse("tunnel_aborted", aborted.Error())
	case errors.Is(err, tunnel.ErrEnded):
		return refuse("attempt_ended", err.Error())
	case errors.Is(err, tunnel.ErrConnect), errors.Is(err, tunnel.ErrIdle):
		return refuse("tunnel_timeout", err.Error()+"; an attempt that serves no requests takes none")
	case errors.Is(err, calls.ErrBusy):
		return retry(refuse("too_many_tunnels", err.Error()), 1)
	case errors.Is(err, calls.ErrUnavailable), errors.Is(err, calls.ErrClosed), errors.Is(err, calls.ErrLost):
		return retry(refuse("unavailable", err.Error()), 1)
	}
	return err
}

// tunnelChunk is how many bytes of a body a message has at most.
const tunnelChunk = 32 << 10

// errBody is a request's body that is too long.
var errBody = errors.New("the body is too large")

// exchange passes the body of a request on, and the answer back, at the same time.
func (g *Gateway) exchange(w http.ResponseWriter, r *http.Request, call *calls.Call) (err error) {
	ctl := http.NewResponseController(w)
	_ = ctl.EnableFullDuplex()           // HTTP/2 is so anyway
	_ = ctl.SetReadDeadline(time.Time{}) // the call has its own times; a reader without deadlines has none to lift
	ctx, cancel := context.WithCancelCause(r.Context())
	sent := make(chan struct{})
	body := &wholeBody{r: r.Body}
	go func() {
		defer close(sent)
		if err := g.sendBody(ctx, body, call); err != nil {
			cancel(err)
		}
	}()
	began, err := receive(ctx, w, ctl, call, func() { body.last(w, r) })
	if err != nil {
		call.Abort("the client has gone, or is too slow")
	}
	cancel(nil)
	if !body.whole.Load() { // what is left of it nobody reads
		body.last(w, r)
		_ = ctl.SetReadDeadline(time.Now()) // likewise
	}
	<-sent
	switch {
	case err == nil:
		call.End()
		return nil
	case began:
		panic(http.ErrAbortHandler) // so that the client does not take what it has for the whole
	case errors.Is(err, errBody):
		return refuse("too_large", fmt.Sprintf("%v: the limit is %d bytes", err, g.limits.TunnelBody))
	}
	return tunnelProblem(err)
}

// wholeBody is a request's body, of which the connection must be rid before another request comes on it.
type wholeBody struct {
	r     io.Reader
	whole atomic.Bool // it was read to its end
}

// Read implements io.Reader.
func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		b.whole.Store(true)
	}
	return n, err
}

// last has the connection closed behind an answer that begins before the body has been read to its end. net/http would take what is left of
// it for the next request, because the answer and the body are under way at the same time.
func (b *wholeBody) last(w http.ResponseWriter, r *http.Request) {
	if !b.whole.Load() && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// sendBody passes a body on to its end. A call that is over says so by itself.
func (g *Gateway) sendBody(ctx context.Context, body io.Reader, call *calls.Call) error {
	for total := int64(0); ; {
		buf := make([]byte, tunnelChunk) // what is sent is kept until it is acknowledged
		n, err := body.Read(buf)
		if total += int64(n); total > g.limits.TunnelBody {
			return errBody
		}
		if n > 0 && call.Send(ctx, &frames.RequestChunk{Body: buf[:n]}) != nil {
			return nil
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = call.Send(ctx, &frames.RequestEnd{}) // as above
			return nil
		case err != nil:
			return fmt.Errorf("reading the body: %w", err)
		}
	}
}

// receive passes an answer on; begins is called before its begin. began says whether the client has a part of it.
func receive(ctx context.Context, w http.ResponseWriter, ctl *http.ResponseController, call *calls.Call, begins func()) (began bool, err error) {
	for {
		m, err := call.Next(ctx)
		if err != nil {
			return began, err
		}
		switch m := m.(type) {
		case *frames.ResponseStart:
			if began || m.Status < 200 {
				return began, &tunnel.AbortedError{Reason: fmt.Sprintf("its status is %d", m.Status)}
			}
			began = true
			handedBack(w.Header(), m.Headers)
			begins()
			w.WriteHeader(int(m.Status))
		case *frames.ResponseChunk:
			if !began {
				return began, &tunnel.AbortedError{Reason: "its answer begins with the body"}
			}
			_ = ctl.SetWriteDeadline(time.Now().Add(slowClient)) // a writer without deadlines cannot be slow either
			if _, err := w.Write(m.Body); err != nil {
				return began, fmt.Errorf("writing the answer: %w", err)
			}
		case *frames.ResponseEnd:
			if !began {
				return began, &tunnel.AbortedError{Reason: "its answer has no status"}
			}
			return began, nil
		default:
			return began, &tunnel.AbortedError{Reason: fmt.Sprintf("an answer has no %T", m)}
		}
		if err := ctl.Flush(); err != nil {
			return began, fmt.Errorf("writing the answer: %w", err)
		}
	}
}
