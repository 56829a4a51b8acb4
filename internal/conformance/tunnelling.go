package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"
)

func tunnelling() []one[*trial] {
	return []one[*trial]{
		{"T01", "an attempt answers a request of a client, which is streamed both ways", t01},
		{"T02", "a WebSocket of an attempt goes on behind a broken socket, without loss and in order", t02},
		{"T03", "the index of messages wraps in both directions", t03},
		{"T04", "an attempt sends no more than a window that is not acknowledged, and stops when its client has gone", t04},
		{"T05", "a message of a request that the client does not have is answered with ResponseAbort", t05},
		{"T06", "requests end with their attempt, which is told as often as one is begun", t06},
		{"T07", "a request begins once, and what comes twice is acknowledged again", t07},
	}
}

// gateway is the other end of a request to an attempt.
type gateway struct {
	tunnel.Stream
	p *peer
}

func (p *peer) gateway(id string) *gateway { return &gateway{tunnel.NewStream(id), p} }

func (g *gateway) say(m frames.TunnelMessage) { g.p.send(&frames.ToClientTunnel{Tunnel: *g.Send(m)}) }

// next is the next message of the answer, taken and acknowledged as it is due; events are passed.
func (g *gateway) next() frames.TunnelMessage {
	m := g.untaken()
	if g.Taken() {
		g.p.send(&frames.ToClientTunnel{Tunnel: *g.Ack()})
	}
	return m
}

// untaken is the next message of the answer; of those that come by themselves acknowledgements are taken.
func (g *gateway) untaken() frames.TunnelMessage {
	for {
		f := g.p.frame(patience)
		if f == nil {
			g.p.judge.fail("the socket is closed with %+v, want a message of %s", g.p.closed(), g.ID())
		}
		t, is := f.(*frames.ToServerTunnel)
		if !is || t.RequestID != g.ID() {
			continue
		}
		switch m := t.Inner.(type) {
		case *frames.TunnelAck:
			_, err := g.Acked(m.LastMessageIdx)
			g.p.judge.check(err == nil, "%v", err)
			continue
		case *frames.ResponseAbort:
			return m
		}
		verdict, err := g.Received(&t.Tunnel)
		g.p.judge.check(err == nil && verdict != tunnel.Gap, "message %d of the answer: %v, %v", t.MessageIdx, verdict, err)
		if verdict == tunnel.Fresh {
			return t.Inner
		}
	}
}

// serve starts the attempt a, which serves requests.
func (p *peer) serve() { p.run(0, 0, "a", "serve", "60000") }

func t01(t *trial) {
	p := t.begin()
	p.serve()
	g := p.gateway("r.1")
	g.say(&frames.RequestStart{Token: "a", Method: "PUT", Path: "/echo/%2F?q=1", Headers: []frames.Header{{Name: "Host", Value: "heddle.example"}, {Name: "X-Own", Value: "ü"}}})
	g.say(&frames.RequestChunk{Body: []byte("one, ")})
	g.say(&frames.RequestChunk{Body: []byte{0xff, 0}})
	g.say(&frames.RequestEnd{})
	start, is := g.next().(*frames.ResponseStart)
	t.check(is && start.Status == 201, "the answer begins with %+v, want the status 201", start)
	for name, want := range map[string]string{"x-method": "PUT", "x-path": "/echo/%2F?q=1", "x-own": "ü"} { // order: each by itself
		i := slices.IndexFunc(start.Headers, func(h frames.Header) bool { return strings.EqualFold(h.Name, name) })
		t.check(i >= 0 && start.Headers[i].Value == want, "the headers are %q, want %s: %s", start.Headers, name, want)
	}
	var body []byte
	for {
		m := g.next()
		if _, ended := m.(*frames.ResponseEnd); ended {
			break
		}
		chunk, is := m.(*frames.ResponseChunk)
		t.check(is, "got %T", m)
		body = append(body, chunk.Body...)
	}
	t.check(string(body) == "one, \xff\x00", "the body is %q", body)
}

// open opens a WebSocket that says again what it is told.
func (p *peer) open(id string) *gateway {
	g := p.gateway(id)
	g.say(&frames.WebSocketOpen{Token: "a", Path: "/socket", Headers: []frames.Header{{Name: "Sec-WebSocket-Protocol", Value: "other, talk"}}})
	answer, is := g.next().(*frames.WebSocketOpen)
	p.judge.check(is && answer.Protocol == "talk", "the answer is %+v, want one with the sub-protocol talk", answer)
	return g
}

// echoes sends messages from one number to another, and takes them again.
func (g *gateway) echoes(from, to int) {
	sent := from
	for got := from; got < to; {
		for sent < to && sent-got < 200 && g.Room(10) {
			g.say(&frames.WebSocketMessage{Data: fmt.Appendf(nil, "%d", sent), Text: sent%2 == 0})
			sent++
		}
		m, is := g.next().(*frames.WebSocketMessage)
		g.p.judge.check(is && string(m.Data) == fmt.Sprint(got) && m.Text == (got%2 == 0), "message %d is %+v", got, m)
		got++
	}
}

// part closes a WebSocket, as the client.
func (g *gateway) part() {
	g.say(&frames.WebSocketClose{Code: 4001, Reason: "enough"})
	_, is := g.next().(*frames.WebSocketClose)
	g.p.judge.check(is, "the close is not answered")
}

func t02(t *trial) {
	p := t.begin()
	p.serve()
	g := p.open("r.1")
	g.echoes(0, 100)
	for n := 100; n < 150; n++ {
		g.say(&frames.WebSocketMessage{Data: fmt.Appendf(nil, "%d", n), Text: n%2 == 0})
	}
	for range 20 {
		g.untaken() // and lost with the gateway's socket
	}
	lost := g.Stream
	p.drop()
	p, _ = t.accept(runnerID, 0)
	g = &gateway{lost, p}
	for range 20 {
		g.Taken()
	}
	for _, m := range g.Again() {
		p.send(&frames.ToClientTunnel{Tunnel: *m})
	}
	for n := 120; n < 150; n++ {
		m, is := g.next().(*frames.WebSocketMessage)
		t.check(is && string(m.Data) == fmt.Sprint(n), "message %d is %+v", n, m)
	}
	g.echoes(150, 300)
	g.part()
}

func t03(t *trial) {
	p := t.begin()
	p.serve()
	g := p.open("r.1")
	g.echoes(0, 66_000)
	g.part()
}

func t04(t *trial) {
	p := t.begin()
	p.serve()
	g := p.gateway("r.1")
	g.say(&frames.RequestStart{Token: "a", Method: "GET", Path: "/stream"})
	g.say(&frames.RequestEnd{})
	count, size := 0, 0
	take := func() {
		size += frames.Size(g.untaken())
		count++
	}
	take()
	for range 4 { // the stream has no end, and stands still where nothing is taken
		for deadline := time.After(300 * time.Millisecond); ; {
			more := false
			select {
			case f, open := <-p.in:
				t.check(open, "the socket is closed with %+v", p.closed())
				if m, is := f.(*frames.ToServerTunnel); is {
					if _, ack := m.Inner.(*frames.TunnelAck); !ack {
						v, err := g.Received(&m.Tunnel)
						t.check(v == tunnel.Fresh && err == nil, "message %d of the answer: %v, %v", m.MessageIdx, v, err)
						size += frames.Size(m.Inner)
						count++
					}
				}
				more = true
			case <-deadline:
			}
			if !more {
				break
			}
		}
		t.check(count > 0 && count <= frames.TunnelMessages && size <= frames.TunnelWindow, "%d messages with %d bytes come without an acknowledgement", count, size)
		for range count {
			g.Taken()
		}
		count, size = 0, 0
		p.send(&frames.ToClientTunnel{Tunnel: *g.Ack()})
		take()
	}
	p.send(&frames.ToClientTunnel{Tunnel: *g.Abort(&frames.RequestAbort{Reason: "the client has gone"})})
	p.commands(command(1, "b", "echo", "1")) // its end comes behind whatever was said before
	for ended := false; !ended; {
		if f, is := p.frame(patience).(*frames.ToServerEvents); is {
			s, is := f.Events[len(f.Events)-1].Inner.(*frames.TaskState)
			ended = is && s.Token == "b" && s.State == frames.StateStopped
		}
	}
	p.silent(200 * time.Millisecond)
}

// refused takes the ResponseAbort of a request.
func (p *peer) refused(id string) {
	f := want[*frames.ToServerTunnel](p)
	_, is := f.Inner.(*frames.ResponseAbort)
	p.judge.check(is && f.RequestID == id, "got %+v of %s, want ResponseAbort of %s", f.Inner, f.RequestID, id)
}

func t05(t *trial) {
	p := t.begin()
	p.serve()
	for i, m := range []frames.TunnelMessage{
		&frames.RequestStart{Token: "nobody", Method: "GET", Path: "/echo"}, &frames.WebSocketOpen{Token: "nobody", Path: "/socket"}, &frames.RequestEnd{}, &frames.TunnelAck{},
	} {
		id := fmt.Sprintf("r.%d", i)
		p.send(&frames.ToClientTunnel{Tunnel: frames.Tunnel{RequestID: id, Inner: m}})
		p.refused(id)
	}
	p.send(&frames.ToClientTunnel{Tunnel: frames.Tunnel{RequestID: "r.9", Inner: &frames.RequestAbort{Reason: "gone"}}})
	p.silent(200 * time.Millisecond)
	t.alive()
}

func t06(t *trial) {
	p := t.begin()
	p.serve()
	g := p.open("r.1")
	p.commands(stop(1, "a"))
	_, is := g.untaken().(*frames.ResponseAbort)
	t.check(is, "the request is not aborted")
	p.aborts("r.1", &frames.WebSocketOpen{Token: "a", Path: "/socket"}) // the word of its end was lost
	p.aborts("r.2", &frames.RequestStart{Token: "a", Method: "GET", Path: "/echo"})
}

// aborts sends the first message of a request, and takes its ResponseAbort; events are passed.
func (p *peer) aborts(id string, first frames.TunnelMessage) {
	p.send(&frames.ToClientTunnel{Tunnel: frames.Tunnel{RequestID: id, Inner: first}})
	for {
		f := p.frame(patience)
		if m, is := f.(*frames.ToServerTunnel); is {
			_, is := m.Inner.(*frames.ResponseAbort)
			p.judge.check(is && m.RequestID == id, "got %+v, want ResponseAbort of %s", m, id)
			return
		}
		p.judge.check(f != nil, "the socket is closed with %+v", p.closed())
	}
}

func t07(t *trial) {
	p := t.begin()
	p.serve()
	g := p.gateway("r.1")
	start, end := g.Send(&frames.RequestStart{Token: "a", Method: "POST", Path: "/echo"}), g.Send(&frames.RequestEnd{})
	for _, m := range []*frames.Tunnel{start, end, start, end} {
		p.send(&frames.ToClientTunnel{Tunnel: *m})
	}
	acks, answers, ended := 0, 0, false
	for !ended || acks < 2 { // it may have answered before it reads what comes twice
		m := want[*frames.ToServerTunnel](p)
		switch m.Inner.(type) {
		case *frames.TunnelAck:
			acks++
			continue
		case *frames.ResponseStart:
			answers++
		case *frames.ResponseEnd:
			ended = true
		}
		v, err := g.Received(&m.Tunnel)
		t.check(v == tunnel.Fresh && err == nil, "message %d of the answer: %v, %v", m.MessageIdx, v, err)
		g.Taken()
	}
	t.check(answers == 1, "%d answers", answers)
	p.send(&frames.ToClientTunnel{Tunnel: *g.Ack()})
	p.send(&frames.ToClientTunnel{Tunnel: *start}) // it is over
	for deadline := time.After(300 * time.Millisecond); ; {
		select {
		case f := <-p.in:
			m, is := f.(*frames.ToServerTunnel)
			if !is {
				continue
			}
			_, again := m.Inner.(*frames.ResponseStart)
			t.check(!again, "the request begins twice")
		case <-deadline:
			return
		}
	}
}
