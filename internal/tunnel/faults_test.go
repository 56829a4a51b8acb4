package tunnel_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/runner"
	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"
)

// world is a gateway's request to an attempt at a runner, with executors in between that die, and sockets that break. Executors hold
// nothing: what they have been given goes on, or is lost.
type world struct {
	t      *rapid.T
	now    time.Time
	caller *tunnel.Caller
	runner *runner.Session

	socket  uint64 // number; 0: there is none
	wanted  bool   // the runner dials
	down    []relayed
	up      []relayed // in Kafka: it arrives, sooner or later
	asked   int
	session int  // number
	calm    bool // nothing breaks any more

	toSend, toAnswer    uint32 // messages that are sent yet
	sent, answered      uint32
	received, delivered []uint32 // by the attempt, by the client
	waitingA, waitingC  int      // that were handed over and are not taken
	ended, gone         bool
	over                bool
	err                 error
}

type relayed struct {
	socket uint64
	tunnel frames.Tunnel
}

const token = "t"

func newWorld(t *rapid.T, messages uint32) *world {
	w := &world{t: t, now: time.Unix(1_000_000, 0), toSend: messages, toAnswer: messages, session: 1}
	w.runner = runner.New(runner.Config{Init: frames.ToServerInit{Name: "n", TotalSlots: 1}, Random: func() float64 { return 0.5 }})
	w.runner.Begin(w.now)
	w.perform()
	w.connect()
	w.runner.Received(w.now, &frames.ToClientCommands{Commands: []frames.Command{{Inner: &frames.StartTask{Token: token, Task: "x"}}}})
	w.caller = tunnel.Call("r", w.now, tunnel.Times{Connect: time.Hour, Idle: 10 * time.Hour}, w.place(), &frames.WebSocketOpen{Token: token, Path: "/"})
	w.perform()
	return w
}

func (w *world) place() tunnel.Place {
	p := tunnel.Place{Pool: "p", Runner: fmt.Sprint("s", w.session), Number: w.socket}
	if w.socket > 0 {
		p.Executor = fmt.Sprint("e", w.socket%3)
	}
	return p
}

var sockets uint64

func (w *world) connect() {
	if !w.wanted {
		return
	}
	sockets++
	w.wanted, w.socket = false, sockets
	w.runner.Opened(w.now)
	w.runner.Received(w.now, &frames.ToClientInit{RunnerID: fmt.Sprint("s", w.session), LastEventIdx: -1, Metadata: frames.Terms{RunnerLostThreshold: 3_600_000}})
	w.perform()
}

// broken loses what is on its way to the socket, and a part of what the runner has written: from one frame on.
func (w *world) broken() {
	if w.socket == 0 {
		return
	}
	was := w.socket
	w.socket = 0
	kept, lost := w.up[:0:0], false
	for _, m := range w.up {
		lost = lost || m.socket == was && rapid.Bool().Draw(w.t, "lost")
		if !lost || m.socket != was {
			kept = append(kept, m)
		}
	}
	w.up = kept
	w.runner.Broken(w.now, frames.Close{})
	w.perform()
}

// perform does what both ends want.
func (w *world) perform() {
	for {
		actions := w.runner.Take()
		var calls []tunnel.Action
		if w.caller != nil {
			calls = w.caller.Take()
		}
		if len(actions)+len(calls) == 0 {
			return
		}
		for _, a := range actions {
			w.act(a)
		}
		for _, a := range calls {
			w.call(a)
		}
	}
}

func number(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

func (w *world) act(a runner.Action) {
	switch a := a.(type) {
	case runner.Dial:
		w.wanted = true
	case runner.Hangup:
		w.wanted, w.socket = false, 0
	case runner.Send:
		if f, is := a.Frame.(*frames.ToServerTunnel); is && w.socket > 0 {
			w.up = append(w.up, relayed{w.socket, f.Tunnel})
		}
	case runner.Serve:
		w.waitingA++
		if m, is := a.Message.(*frames.WebSocketMessage); is {
			w.received = append(w.received, number(m.Data))
		}
	case runner.Gone:
		w.gone = true
	}
}

func (w *world) call(a tunnel.Action) {
	switch a := a.(type) {
	case tunnel.Relay:
		w.down = append(w.down, relayed{a.To.Number, *a.Message})
	case tunnel.Ask:
		w.asked++
	case tunnel.Deliver:
		w.waitingC++
		if m, is := a.Message.(*frames.WebSocketMessage); is {
			w.delivered = append(w.delivered, number(m.Data))
		}
		_, is := a.Message.(*frames.WebSocketClose)
		w.ended = w.ended || is
	case tunnel.Over:
		w.over, w.err = true, a.Err
	}
}

// message has a number, and so many bytes more.
func (w *world) message(n uint32) *frames.WebSocketMessage {
	size := 0
	if rapid.IntRange(0, 3).Draw(w.t, "large") == 0 {
		size = rapid.IntRange(0, frames.MaxTunnelBody-4).Draw(w.t, "size")
	}
	return &frames.WebSocketMessage{Data: binary.BigEndian.AppendUint32(make([]byte, 0, 4+size), n)[:4+size]}
}

func (w *world) send() {
	if w.sent == w.toSend || w.over {
		return
	}
	if m := w.message(w.sent); w.caller.Room(len(m.Data)) && w.caller.Send(w.now, m) {
		w.sent++
	}
	w.perform()
}

func (w *world) answer() {
	if w.answered > w.toAnswer || w.gone {
		return
	}
	if w.answered == w.toAnswer && len(w.received) < int(w.toSend) {
		return // what comes behind its close would be nobody's
	}
	var m frames.TunnelMessage = &frames.WebSocketClose{Code: 1000}
	if w.answered < w.toAnswer {
		m = w.message(w.answered)
	}
	if sent, _ := w.runner.Reply(w.now, "r", m); sent {
		w.answered++
	}
	w.perform()
}

func (w *world) deliver() {
	if len(w.down) == 0 {
		return
	}
	m := w.down[0]
	w.down = w.down[1:]
	if m.socket == w.socket {
		w.runner.Received(w.now, &frames.ToClientTunnel{Tunnel: m.tunnel})
	} else if rapid.Bool().Draw(w.t, "the executor lives") {
		w.caller.Missed(w.now)
	}
	w.perform()
}

// arrive hands the gateway what a runner has said. What came by another executor may overtake.
func (w *world) arrive() {
	if len(w.up) == 0 {
		return
	}
	i := 0
	if w.up[len(w.up)-1].socket != w.up[0].socket && rapid.IntRange(0, 4).Draw(w.t, "overtakes") == 0 {
		for w.up[i].socket == w.up[0].socket {
			i++
		}
	}
	m := w.up[i]
	w.up = append(w.up[:i:i], w.up[i+1:]...)
	from := tunnel.Place{Pool: "p", Runner: fmt.Sprint("s", w.session), Executor: fmt.Sprint("e", m.socket%3), Number: m.socket}
	w.caller.Received(w.now, from, &m.tunnel)
	w.perform()
}

func (w *world) found() {
	if w.asked == 0 {
		return
	}
	w.asked--
	if !w.calm && rapid.IntRange(0, 4).Draw(w.t, "found") == 0 {
		w.caller.Found(w.now, tunnel.Place{}, fmt.Errorf("nobody answers"))
	} else {
		w.caller.Found(w.now, w.place(), nil)
	}
	w.perform()
}

func (w *world) take() {
	if w.waitingA > 0 {
		w.waitingA--
		w.runner.Took(w.now, "r")
	}
	if w.waitingC > 0 {
		w.waitingC--
		w.caller.Took(w.now)
	}
	w.perform()
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.runner.Wake(w.now)
	w.runner.Received(w.now, &frames.ToClientPong{}) // the executor answers its pings
	w.caller.Wake(w.now)
	w.perform()
}

func (w *world) check() {
	for name, all := range map[string][]uint32{"the attempt": w.received, "the client": w.delivered} { // order: each by itself
		for i, n := range all {
			if n != uint32(i) {
				w.t.Fatalf("%s has message %d at place %d", name, n, i)
			}
		}
	}
}

// Sockets break and executors die at any point of a stream in both directions: each end gets what the other one has sent, each message once and in
// order, and the request ends when it has ended.
func TestWhateverBreaksBothDirectionsArriveWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, uint32(rapid.IntRange(0, 60).Draw(t, "messages")))
		steps := []func(){w.send, w.send, w.answer, w.answer, w.deliver, w.deliver, w.deliver, w.arrive, w.arrive, w.arrive, w.take, w.take, w.found, w.connect,
			func() { w.pass(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond) }, w.broken}
		for range rapid.IntRange(0, 500).Draw(t, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
			w.check()
		}
		w.calm = true
		for range 3000 {
			if w.ended && len(w.received) == int(w.toSend) || w.over {
				break
			}
			for _, step := range []func(){w.connect, w.found, w.send, w.answer, w.deliver, w.deliver, w.arrive, w.arrive, w.take, w.take} {
				step()
			}
			if len(w.up)+len(w.down) == 0 {
				w.pass(200 * time.Millisecond)
			}
			w.check()
		}
		if w.over || !w.ended || len(w.delivered) != int(w.toAnswer) || len(w.received) != int(w.toSend) {
			t.Fatalf("the client has %d messages of %d, the attempt %d of %d; ended: %v, over: %v, %v", len(w.delivered), w.toAnswer, len(w.received), w.toSend, w.ended, w.over, w.err)
		}
		w.caller.End(w.now)
		w.perform()
		if !w.over || w.err != nil {
			t.Errorf("it is over: %v, %v", w.over, w.err)
		}
	})
}
