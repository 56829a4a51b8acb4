package runner

import (
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"
)

// tunnels are the requests of clients of the gateway to attempts that run here, as they came.
type tunnels struct {
	open []*visit
	over []past // those that are over, the oldest first: a request begins once
}

// past is a request that is over.
type past struct {
	id     string
	reason string // why it was ended before its end; empty: the gateway has all of the answer, or has ended it
}

// visit is one such request.
type visit struct {
	tunnel.Stream
	token string
	heard time.Time // of the gateway
	said  bool      // the answer has been sent to its end
	talks bool      // it is a WebSocket, which its client has not closed
}

const (
	// remembered bounds the requests that are over and known.
	remembered = 1000
	// maxReason bounds what is known of each of them.
	maxReason = 200 // bytes
	// gatewayGone is how long a gateway may be silent while there is a socket.
	gatewayGone = time.Minute
)

func (v *tunnels) find(id string) *visit {
	for _, one := range v.open {
		if one.ID() == id {
			return one
		}
	}
	return nil
}

func (v *tunnels) past(id string) (p past, known bool) {
	i := slices.IndexFunc(v.over, func(p past) bool { return p.id == id })
	if i < 0 {
		return past{}, false
	}
	return v.over[i], true
}

// receive takes a message of a gateway.
func (v *tunnels) receive(s *Session, now time.Time, t *frames.Tunnel) {
	one := v.find(t.RequestID)
	if one == nil {
		v.begin(s, now, t)
		return
	}
	one.heard = now
	switch m := t.Inner.(type) {
	case *frames.TunnelAck:
		v.acked(s, one, m.LastMessageIdx)
	case *frames.RequestAbort:
		v.forget(one, "")
		s.do(Gone{one.ID(), m.Reason})
	case *frames.RequestStart, *frames.RequestChunk, *frames.RequestEnd, *frames.WebSocketOpen, *frames.WebSocketMessage, *frames.WebSocketClose:
		v.take(s, one, t)
	default:
		v.abort(s, one, "a client does not send that")
	}
}

// begin takes the first message of a request.
func (v *tunnels) begin(s *Session, now time.Time, t *frames.Tunnel) {
	token, begins := "", t.MessageIdx == 0
	switch m := t.Inner.(type) {
	case *frames.RequestStart:
		token = m.Token
	case *frames.WebSocketOpen:
		token = m.Token
	case *frames.RequestAbort:
		return
	default:
		begins = false
	}
	was, known := v.past(t.RequestID)
	if known && was.reason == "" {
		return
	}
	one := &visit{Stream: tunnel.NewStream(t.RequestID), token: token, heard: now}
	a := s.attempts.by[token]
	switch {
	case known: // that may have been lost with a socket
		s.say(one.Abort(&frames.ResponseAbort{Reason: was.reason}))
	case !begins:
		s.say(one.Abort(&frames.ResponseAbort{Reason: "the runner does not have the request any more"}))
	case a == nil || !a.started || a.halted:
		s.say(one.Abort(&frames.ResponseAbort{Reason: "the attempt does not run here"}))
	case len(v.open) >= frames.MaxTunnels:
		s.say(one.Abort(&frames.ResponseAbort{Reason: "the runner serves too many requests"}))
	default:
		v.open = append(v.open, one)
		v.take(s, one, t)
	}
}

func (v *tunnels) take(s *Session, one *visit, t *frames.Tunnel) {
	switch verdict, err := one.Received(t); {
	case err != nil:
		v.abort(s, one, err.Error())
	case verdict == tunnel.Fresh:
		s.do(Serve{one.ID(), one.token, t.Inner})
		switch t.Inner.(type) {
		case *frames.WebSocketOpen:
			one.talks = true
		case *frames.WebSocketClose:
			one.talks = false
			v.settle(one)
		}
	case verdict == tunnel.Again:
		s.say(one.Ack())
	}
}

func (v *tunnels) acked(s *Session, one *visit, last uint16) {
	news, err := one.Stream.Acked(last)
	switch {
	case err != nil:
		v.abort(s, one, err.Error())
	case v.settle(one):
	case news:
		s.do(Room{one.ID()})
	}
}

// settle forgets a request of which nothing is to be said or heard any more, and reports whether it has.
func (v *tunnels) settle(one *visit) bool {
	over := one.said && one.Settled() && !one.talks
	if over {
		v.forget(one, "")
	}
	return over
}

func (v *tunnels) forget(one *visit, reason string) {
	v.open = slices.DeleteFunc(v.open, func(o *visit) bool { return o == one })
	if v.over = append(v.over, past{one.ID(), strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")}); len(v.over) > remembered {
		v.over = v.over[1:]
	}
}

// end is the end of a request of which the gateway needs to hear nothing.
func (v *tunnels) end(s *Session, one *visit, reason string) {
	v.forget(one, reason)
	s.do(Gone{one.ID(), reason})
}

func (v *tunnels) abort(s *Session, one *visit, reason string) {
	s.say(one.Abort(&frames.ResponseAbort{Reason: reason}))
	v.end(s, one, reason)
}

// endAll ends the requests that are meant.
func (v *tunnels) endAll(s *Session, reason string, meant func(*visit) bool) {
	for _, one := range slices.Clone(v.open) {
		if meant(one) {
			v.abort(s, one, reason)
		}
	}
}

// drop ends all requests without a word to their gateways, who would not believe it of another session.
func (v *tunnels) drop(s *Session, reason string) {
	for _, one := range slices.Clone(v.open) {
		v.end(s, one, reason)
	}
}

// resume says of each request what was taken of it, and sends again what the gateway may have missed.
func (v *tunnels) resume(s *Session, now time.Time) {
	for _, one := range v.open {
		one.heard = now
		for _, t := range one.Again() {
			s.say(t)
		}
	}
}

// silent ends the requests whose gateways are gone.
func (v *tunnels) silent(s *Session, now time.Time) {
	v.endAll(s, "nothing was heard of the gateway for too long", func(one *visit) bool { return reached(one.heard, gatewayGone, now) })
}

// next is when silent is due; zero: nothing is.
func (v *tunnels) next() time.Time {
	var next time.Time
	for _, one := range v.open {
		if t := one.heard.Add(gatewayGone); next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return next
}

// say sends a message of a tunnel, if there is a socket; else it is sent again when there is one, if it has an index.
func (s *Session) say(t *frames.Tunnel) {
	if s.phase == connected {
		s.send(&frames.ToServerTunnel{Tunnel: *t})
	}
}

// Reply sends a message of an answer. sent says whether it has been: there may be no room, until Room says that there is.
// open is false when the request is over.
func (s *Session) Reply(_ time.Time, id string, m frames.TunnelMessage) (sent, open bool) {
	one := s.tunnels.find(id)
	switch {
	case one == nil || one.said:
		return false, false
	case !tunnel.Ends(m) && !one.Room(frames.Size(m)):
		return false, true
	}
	one.said = tunnel.Ends(m)
	s.say(one.Send(m))
	return true, true
}

// Took notes that the oldest message of a request that was served, and not taken yet, has been.
func (s *Session) Took(_ time.Time, id string) {
	if one := s.tunnels.find(id); one != nil && one.Taken() {
		s.say(one.Ack())
	}
}

// Refuse ends a request before its end.
func (s *Session) Refuse(_ time.Time, id, reason string) {
	if one := s.tunnels.find(id); one != nil {
		s.tunnels.abort(s, one, reason)
	}
}
