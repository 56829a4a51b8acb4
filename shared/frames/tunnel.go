package frames

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// Tunnel is one message between a client of the gateway and a running attempt. The messages of a
// request have an index in each direction, from 0 on without gaps, which goes from 65535 on to 0. Who
// receives one that it has had acknowledges again what it has taken; one behind a gap it passes.
type Tunnel struct {
	RequestID  string // the gateway's choice, unique
	MessageIdx uint16 // of this direction; an acknowledgement and an abort have none
	Inner      TunnelMessage
}

// TunnelMessage is what is passed on: a closed set.
type TunnelMessage interface {
	wire.Message
	tunnel() int
}

var tunnelMessages = set[TunnelMessage]{
	{1, "RequestStart", func() TunnelMessage { return &RequestStart{} }},
	{2, "RequestChunk", func() TunnelMessage { return &RequestChunk{} }},
	{3, "RequestEnd", func() TunnelMessage { return &RequestEnd{} }},
	{4, "RequestAbort", func() TunnelMessage { return &RequestAbort{} }},
	{5, "ResponseStart", func() TunnelMessage { return &ResponseStart{} }},
	{6, "ResponseChunk", func() TunnelMessage { return &ResponseChunk{} }},
	{7, "ResponseEnd", func() TunnelMessage { return &ResponseEnd{} }},
	{8, "ResponseAbort", func() TunnelMessage { return &ResponseAbort{} }},
	{9, "WebSocketOpen", func() TunnelMessage { return &WebSocketOpen{} }},
	{10, "WebSocketMessage", func() TunnelMessage { return &WebSocketMessage{} }},
	{11, "WebSocketClose", func() TunnelMessage { return &WebSocketClose{} }},
	{12, "TunnelAck", func() TunnelMessage { return &TunnelAck{} }},
}

// RequestStart begins an HTTP request to the attempt of a token.
type RequestStart struct {
	Token   string
	Method  string
	Path    string // behind the tunnel's own, with the query; begins with /
	Headers []Header
}

// Header is a header of HTTP; one that has several values comes several times.
type Header struct{ Name, Value string }

// RequestChunk is a part of a request's body.
type RequestChunk struct{ Body []byte }

// RequestEnd ends a request's body.
type RequestEnd struct{}

// RequestAbort says that the client has gone, also that of a WebSocket. It counts at once, whatever was sent before.
type RequestAbort struct{ Reason string }

// ResponseStart begins the answer to a request.
type ResponseStart struct {
	Status  uint32 // of HTTP
	Headers []Header
}

// ResponseChunk is a part of an answer's body.
type ResponseChunk struct{ Body []byte }

// ResponseEnd ends an answer.
type ResponseEnd struct{}

// ResponseAbort says that there is no answer, or no more of it, also on a WebSocket. It counts at once, as RequestAbort.
type ResponseAbort struct{ Reason string }

// WebSocketOpen opens a WebSocket to the attempt of a token; as the answer, which has neither token
// nor path, it says that it is open.
type WebSocketOpen struct {
	Token    string
	Path     string // as in RequestStart
	Headers  []Header
	Protocol string // of the answer: the sub-protocol that was chosen
}

// WebSocketMessage is one message of a WebSocket.
type WebSocketMessage struct {
	Data []byte
	Text bool
}

// WebSocketClose ends a WebSocket; as the answer to WebSocketOpen it refuses it.
type WebSocketClose struct {
	Code   uint32
	Reason string
}

// TunnelAck says that messages of the other direction have been received, and are not kept any more by the receiver.
type TunnelAck struct {
	LastMessageIdx uint16 // the newest; all before it are too; 65535 before the first
}

// What a sender of a tunnel may have on its way: TunnelMessages messages of a request and a direction that are not acknowledged, with
// TunnelWindow bytes of bodies together, but for the one that ends the direction.
const (
	TunnelWindow   = 512 << 10
	TunnelMessages = 256

	MaxTunnelHeaders = 64 << 10 // bytes of all names and values of a message
	MaxTunnelPath    = 8 << 10  // bytes
	MaxTunnels       = 256      // requests that a runner serves at a time
)

// Size is how many bytes of a body a message carries.
func Size(m TunnelMessage) int {
	switch m := m.(type) {
	case *RequestChunk:
		return len(m.Body)
	case *ResponseChunk:
		return len(m.Body)
	case *WebSocketMessage:
		return len(m.Data)
	}
	return 0
}

// DecodeTunnel reads a message of a tunnel out of Protocol Buffers, as executors and gateways pass it on, and checks it. Bodies alias b.
func DecodeTunnel(b []byte) (*Tunnel, error) {
	t := &Tunnel{}
	err := wire.Unmarshal(b, t)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a message of a tunnel: %w", err)
	}
	return t, nil
}

// After reports whether the index a of a message comes after b, where they are less than half of all
// indexes apart.
func After(a, b uint16) bool { return int16(a-b) > 0 }

func (*RequestStart) tunnel() int     { return 1 }
func (*RequestChunk) tunnel() int     { return 2 }
func (*RequestEnd) tunnel() int       { return 3 }
func (*RequestAbort) tunnel() int     { return 4 }
func (*ResponseStart) tunnel() int    { return 5 }
func (*ResponseChunk) tunnel() int    { return 6 }
func (*ResponseEnd) tunnel() int      { return 7 }
func (*ResponseAbort) tunnel() int    { return 8 }
func (*WebSocketOpen) tunnel() int    { return 9 }
func (*WebSocketMessage) tunnel() int { return 10 }
func (*WebSocketClose) tunnel() int   { return 11 }
func (*TunnelAck) tunnel() int        { return 12 }

// TunnelInner carries what is passed on.
type TunnelInner struct{ Message TunnelMessage }

// Fields implements wire.Message.
func (m *TunnelInner) Fields(c *wire.Codec) {
	tunnelMessages.fields(c, &m.Message, TunnelMessage.tunnel)
}

// Fields implements wire.Message.
func (m *Tunnel) Fields(c *wire.Codec) {
	wire.String(c, 1, "requestId", &m.RequestID)
	wire.Index(c, 2, "messageIdx", &m.MessageIdx)
	inner := TunnelInner{m.Inner}
	wire.Nested(c, 3, "inner", &inner)
	m.Inner = inner.Message
}

// Fields implements wire.Message.
func (m *RequestStart) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &m.Token)
	wire.String(c, 2, "method", &m.Method)
	wire.String(c, 3, "path", &m.Path)
	wire.Repeated(c, 4, "headers", &m.Headers)
}

// Fields implements wire.Message.
func (h *Header) Fields(c *wire.Codec) {
	wire.Name(c, 1, "name", &h.Name)
	wire.String(c, 2, "value", &h.Value)
}

// Fields implements wire.Message.
func (m *RequestChunk) Fields(c *wire.Codec) { c.Bytes(1, "body", &m.Body) }

// Fields implements wire.Message.
func (*RequestEnd) Fields(*wire.Codec) {}

// Fields implements wire.Message.
func (m *RequestAbort) Fields(c *wire.Codec) { wire.String(c, 1, "reason", &m.Reason) }

// Fields implements wire.Message.
func (m *ResponseStart) Fields(c *wire.Codec) {
	wire.Int(c, 1, "status", &m.Status)
	wire.Repeated(c, 2, "headers", &m.Headers)
}

// Fields implements wire.Message.
func (m *ResponseChunk) Fields(c *wire.Codec) { c.Bytes(1, "body", &m.Body) }

// Fields implements wire.Message.
func (*ResponseEnd) Fields(*wire.Codec) {}

// Fields implements wire.Message.
func (m *ResponseAbort) Fields(c *wire.Codec) { wire.String(c, 1, "reason", &m.Reason) }

// Fields implements wire.Message.
func (m *WebSocketOpen) Fields(c *wire.Codec) {
	wire.String(c, 1, "token", &m.Token)
	wire.String(c, 2, "path", &m.Path)
	wire.Repeated(c, 3, "headers", &m.Headers)
	wire.String(c, 4, "protocol", &m.Protocol)
}

// Fields implements wire.Message.
func (m *WebSocketMessage) Fields(c *wire.Codec) {
	c.Bytes(1, "data", &m.Data)
	c.Bool(2, "text", &m.Text)
}

// Fields implements wire.Message.
func (m *WebSocketClose) Fields(c *wire.Codec) {
	wire.Int(c, 1, "code", &m.Code)
	wire.String(c, 2, "reason", &m.Reason)
}

// Fields implements wire.Message.
func (m *TunnelAck) Fields(c *wire.Codec) { wire.Index(c, 1, "lastMessageIdx", &m.LastMessageIdx) }

func (m *Tunnel) check() error {
	if m.Inner == nil {
		return errors.New("it passes nothing on")
	}
	if n := Size(m.Inner); n > MaxTunnelBody {
		return fmt.Errorf("a message carries %d bytes, at most are allowed %d", n, MaxTunnelBody)
	}
	return cmp.Or(bounded("requestId", m.RequestID, MaxName), check(m.Inner))
}

func (m *RequestStart) check() error {
	return cmp.Or(bounded("token", m.Token, MaxToken), bounded("method", m.Method, MaxName), bounded("path", m.Path, MaxTunnelPath), headers(m.Headers))
}

func (m *WebSocketOpen) check() error { return headers(m.Headers) }

func headers(all []Header) error {
	size := 0
	for _, h := range all {
		size += len(h.Name) + len(h.Value)
	}
	if size > MaxTunnelHeaders {
		return fmt.Errorf("the headers have %d bytes, at most are allowed %d", size, MaxTunnelHeaders)
	}
	return nil
}

func (m *ResponseStart) check() error {
	if m.Status < 100 || m.Status > 999 {
		return fmt.Errorf("the status is %d", m.Status)
	}
	return headers(m.Headers)
}
