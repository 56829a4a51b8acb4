package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/internal/tunnel/joint"
	"github.com/heddle-run/heddle/services/gateway/calls"
	"github.com/heddle-run/heddle/shared/frames"
)

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// keyOf is the API key of a request. A browser can give a WebSocket none but as a sub-protocol, as runners do.
func keyOf(r *http.Request) string {
	if key := access.Bearer(r); key != "" || !isUpgrade(r) {
		return key
	}
	for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
		for p := range strings.SplitSeq(line, ",") {
			if key, err := frames.ParseTokenProtocol([]string{strings.TrimSpace(p)}); err == nil && key != "" {
				return key
			}
		}
	}
	return ""
}

// foreign reports whether a request comes of a web page of another origin: browsers let any page open a WebSocket.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// tunnelSocket opens a WebSocket to an attempt, takes that of the client once the attempt has, and joins both.
func (g *Gateway) tunnelSocket(w http.ResponseWriter, r *http.Request, begin func(frames.TunnelMessage) (*calls.Call, error), open *frames.WebSocketOpen) error {
	if foreign(r) {
		return refuse("cross_origin", "WebSockets of web pages of another origin are not served")
	}
	call, err := begin(open)
	if err != nil {
		return tunnelProblem(err)
	}
	answer, err := opened(r.Context(), call)
	if err != nil {
		call.Abort("the client has gone, or the answer is none")
		return tunnelProblem(err)
	}
	handedBack(w.Header(), answer.Headers)
	o := &websocket.AcceptOptions{InsecureSkipVerify: true} // its origin was looked at
	if answer.Protocol != "" {
		o.Subprotocols = []string{answer.Protocol}
	}
	conn, err := websocket.Accept(w, r, o)
	if err != nil { // it has been answered
		call.Abort("the client takes no WebSocket")
		return nil
	}
	if err := joint.Join(context.WithoutCancel(r.Context()), conn, call); err != nil {
		g.logger.Debug("a tunnelled WebSocket has ended", "error", err)
		call.Abort("the client has gone")
		return nil
	}
	call.End()
	return nil
}

// opened is the attempt's answer to a WebSocket.
func opened(ctx context.Context, call *calls.Call) (*frames.WebSocketOpen, error) {
	m, err := call.Next(ctx)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *frames.WebSocketOpen:
		return m, nil
	case *frames.WebSocketClose:
		return nil, &tunnel.AbortedError{Reason: "it takes no WebSocket: " + m.Reason}
	}
	return nil, &tunnel.AbortedError{Reason: "its answer to a WebSocket is none"}
}
