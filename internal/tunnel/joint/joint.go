// Package joint joins a WebSocket to a tunnel: the client's at the gateway, and the one of an attempt's handler at its runner.
package joint

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// Port is the end of a tunnel that a WebSocket is joined to. Both methods fail when the request is over, or ctx ends.
type Port interface {
	Next(ctx context.Context) (frames.TunnelMessage, error)
	Send(ctx context.Context, m frames.TunnelMessage) error
}

const (
	// slow is how long one message may take to be written.
	slow = 30 * time.Second
	// parting is how long one side may go on when the other one is done.
	parting = 5 * time.Second
	// maxReason is how many bytes a close frame has for its reason.
	maxReason = 123
)

// Join passes messages both ways until both sides have closed, or either breaks. A message larger than frames.MaxTunnelBody closes the side that
// sends it with 1009. The WebSocket is closed then. The error says what broke; the request is the caller's to end.
func Join(ctx context.Context, conn *websocket.Conn, port Port) error {
	conn.SetReadLimit(frames.MaxTunnelBody)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &pair{conn: conn, port: port}
	results := make(chan error, 2)
	go func() { results <- j.inward(ctx) }()
	go func() { results <- j.outward(ctx) }()
	err := <-results
	timer := time.AfterFunc(parting, func() { cancel(); _ = conn.CloseNow() }) // it may be closed already
	defer timer.Stop()
	if err != nil {
		_ = conn.Close(websocket.StatusInternalError, events.Cut(err.Error(), maxReason)) // it may be closed, or broken
		cancel()
	}
	return errors.Join(err, <-results)
}

// pair is a WebSocket and its end of the tunnel.
type pair struct {
	conn   *websocket.Conn
	port   Port
	theirs atomic.Pointer[frames.WebSocketClose] // that has come by the tunnel
}

// inward passes on what the WebSocket's other side says.
func (j *pair) inward(ctx context.Context) error {
	for {
		kind, b, err := j.conn.Read(ctx)
		if err != nil {
			return j.closed(ctx, err)
		}
		if err := j.port.Send(ctx, &frames.WebSocketMessage{Data: b, Text: kind == websocket.MessageText}); err != nil {
			return err
		}
	}
}

// closed passes on how the WebSocket was closed: by its other side, or because the tunnel wanted it.
func (j *pair) closed(ctx context.Context, err error) error {
	c, is := errors.AsType[websocket.CloseError](err)
	theirs := j.theirs.Load()
	switch {
	case is:
		return j.port.Send(ctx, &frames.WebSocketClose{Code: uint32(c.Code), Reason: c.Reason})
	case theirs != nil:
		return j.port.Send(ctx, theirs)
	case errors.Is(err, websocket.ErrMessageTooBig):
		return j.port.Send(ctx, &frames.WebSocketClose{Code: uint32(websocket.StatusMessageTooBig), Reason: "a message is too large"})
	}
	return fmt.Errorf("the connection broke: %w", err)
}

// outward passes on what comes by the tunnel.
func (j *pair) outward(ctx context.Context) error {
	for {
		m, err := j.port.Next(ctx)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *frames.WebSocketMessage:
			if err := j.write(ctx, m); err != nil {
				return err
			}
		case *frames.WebSocketClose:
			code := websocket.StatusCode(m.Code)
			if code < 1000 || code > 4999 || code == 1006 || code == 1015 {
				code = websocket.StatusInternalError
			}
			j.theirs.Store(m)
			_ = j.conn.Close(code, events.Cut(m.Reason, maxReason)) // its answer is read by inward, and it may have been closed before
			return nil
		default:
			return fmt.Errorf("a WebSocket has no %T", m)
		}
	}
}

func (j *pair) write(ctx context.Context, m *frames.WebSocketMessage) error {
	kind := websocket.MessageBinary
	if m.Text {
		kind = websocket.MessageText
	}
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	if err := j.conn.Write(ctx, kind, m.Data); err != nil {
		return fmt.Errorf("it does not read: %w", err)
	}
	return nil
}
