package tunnel

import (
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// Place is where an attempt runs: a runner's session, and the socket that the runner has.
type Place struct {
	Pool     string // name
	Runner   string // id of the session; empty: nobody has the attempt any more
	Executor string // that has the socket; empty: there is none now
	Number   uint64 // of the socket at the executor
}

func (p Place) same(o Place) bool { return p.Pool == o.Pool && p.Runner == o.Runner }

// Times of a Caller. Zero ones mean the defaults.
type Times struct {
	Connect time.Duration // until the runner says that it has the request; 10 s
	Idle    time.Duration // without a message either way; 5 min
	Alive   time.Duration // between two words to the runner, who would take the gateway for gone; 20 s
	Look    time.Duration // without a word of the runner that it has what was sent before its pool is asked where it is; 3 s, then twice as long each time, up to 5 times
	Pause   time.Duration // before the pool is asked where the runner has no socket; 100 ms, then twice as long each time, up to 20 times
}

func (t Times) complete() Times {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{{&t.Connect, 10 * time.Second}, {&t.Idle, 5 * time.Minute}, {&t.Alive, 20 * time.Second}, {&t.Look, 3 * time.Second}, {&t.Pause, 100 * time.Millisecond}} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	return t
}

// Why a request is over before its end.
var (
	ErrConnect = errors.New("the runner does not say in time that it has the request")
	ErrIdle    = errors.New("for too long nothing was said either way")
	ErrEnded   = errors.New("the attempt has ended, or its runner is gone")
)

// AbortedError is that the attempt or its runner ends the request.
type AbortedError struct{ Reason string }

// Error implements error.
func (e *AbortedError) Error() string { return "the attempt ends the request: " + e.Reason }

// Action is what is to be done: a closed set.
type Action interface{ action() }

// Relay sends a message to the runner.
type Relay struct {
	To      Place
	Message *frames.Tunnel
}

// Ask asks the pool where the attempt is: Found follows.
type Ask struct{}

// Deliver hands a message to the client: Took follows, once it has it.
type Deliver struct{ Message frames.TunnelMessage }

// Room says that there may be room again.
type Room struct{}

// Over is the last action.
type Over struct{ Err error } // nil: as the client wanted it

func (Relay) action()   {}
func (Ask) action()     {}
func (Deliver) action() {}
func (Room) action()    {}
func (Over) action()    {}

// Caller is a request as the gateway has it.
type Caller struct {
	stream Stream
	times  Times
	place  Place
	out    []Action
	over   bool

	connect time.Time // until which the runner must have said something; zero: it has
	spoke   time.Time // when it was last spoken to
	moved   time.Time // when something was last said either way, but for acknowledgements
	due     time.Time // to ask where the runner is
	pause   time.Duration
	asking  bool
	missed  bool // something was not delivered: it is sent again, wherever the runner is
	misses  int  // how often that was so since something got there
}

// Call begins a request to an attempt that is at a place.
func Call(id string, now time.Time, times Times, at Place, first frames.TunnelMessage) *Caller {
	t := times.complete()
	c := &Caller{stream: NewStream(id), times: t, place: at, connect: now.Add(t.Connect), spoke: now, moved: now, pause: t.Look, due: now.Add(t.Look)}
	c.relay(now, c.stream.Send(first))
	if at.Executor == "" {
		c.Missed(now)
	}
	return c
}

// Take is what is to be done, in order; it is the caller's.
func (c *Caller) Take() []Action {
	out := c.out
	c.out = nil
	return out
}

func (c *Caller) do(a Action) { c.out = append(c.out, a) }

// relay sends a message where the runner is, if it has a socket; else it is sent once it has one.
func (c *Caller) relay(now time.Time, t *frames.Tunnel) {
	c.spoke = now
	if c.place.Executor != "" {
		c.do(Relay{c.place, t})
	}
}

// Room reports whether a message with so many bytes of a body may be sent.
func (c *Caller) Room(size int) bool { return c.stream.Room(size) }

// Send sends a message, for which there is room. It is false when the request is over.
func (c *Caller) Send(now time.Time, m frames.TunnelMessage) bool {
	if c.over {
		return false
	}
	c.moved = now
	c.relay(now, c.stream.Send(m))
	return true
}

// Took notes that the client has taken a message that was delivered.
func (c *Caller) Took(now time.Time) {
	if c.stream.Taken() && !c.over {
		c.relay(now, c.stream.Ack())
	}
}

// End is the end of a request whose answer has ended; what the runner has not been told yet it is told.
func (c *Caller) End(now time.Time) {
	if c.over {
		return
	}
	if c.stream.since > 0 {
		c.relay(now, c.stream.Ack())
	}
	c.finish(nil)
}

// Abort ends a request before its end: the client has gone.
func (c *Caller) Abort(now time.Time, reason string) { c.abort(now, reason, nil) }

func (c *Caller) abort(now time.Time, reason string, err error) {
	if !c.over {
		c.relay(now, c.stream.Abort(&frames.RequestAbort{Reason: reason}))
		c.finish(err)
	}
}

func (c *Caller) finish(err error) {
	c.over = true
	c.do(Over{err})
}

// Received takes a message of a runner's socket. One of another runner counts for nothing.
func (c *Caller) Received(now time.Time, from Place, t *frames.Tunnel) {
	if c.over || !c.place.same(from) {
		return
	}
	c.connect = time.Time{}
	if from != c.place { // the runner has come back: what was on its way to its old socket may be lost
		c.place = from
		c.again(now)
		c.reached(now)
	}
	switch m := t.Inner.(type) {
	case *frames.TunnelAck:
		if news, err := c.stream.Acked(m.LastMessageIdx); err != nil {
			c.abort(now, err.Error(), &AbortedError{err.Error()})
		} else if news {
			c.reached(now)
			c.do(Room{})
		}
	case *frames.ResponseAbort:
		c.finish(&AbortedError{m.Reason})
	case *frames.ResponseStart, *frames.ResponseChunk, *frames.ResponseEnd, *frames.WebSocketOpen, *frames.WebSocketMessage, *frames.WebSocketClose:
		c.receive(now, t)
	default:
		reason := fmt.Sprintf("a runner does not send %T", m)
		c.abort(now, reason, &AbortedError{reason})
	}
	if c.stream.Settled() {
		c.reached(now)
	}
}

// reached notes that what was sent gets to the runner. That it goes on with its answer is no sign of it.
func (c *Caller) reached(now time.Time) {
	if !c.missed {
		c.pause, c.due, c.misses = c.times.Look, now.Add(c.times.Look), 0
	}
}

func (c *Caller) receive(now time.Time, t *frames.Tunnel) {
	switch verdict, err := c.stream.Received(t); {
	case err != nil:
		c.abort(now, err.Error(), &AbortedError{err.Error()})
	case verdict == Fresh:
		c.moved = now
		c.do(Deliver{t.Inner})
	case verdict == Again:
		c.relay(now, c.stream.Ack())
	}
}

// again sends what the runner may have missed.
func (c *Caller) again(now time.Time) {
	c.missed = false
	for _, t := range c.stream.Again() {
		c.relay(now, t)
	}
}

// Missed notes that something was not delivered to the runner: its socket is gone, or it does not read.
func (c *Caller) Missed(now time.Time) {
	if c.over || c.missed {
		return
	}
	c.missed = true
	c.due = now.Add(min(c.times.Pause<<min(c.misses, 5), 20*c.times.Pause))
	c.misses++
}

// Found is the answer to Ask: where the attempt is, or that the pool does not say.
func (c *Caller) Found(now time.Time, at Place, err error) {
	c.asking = false
	if c.over {
		return
	}
	c.due = now.Add(c.pause)
	if err == nil {
		c.pause = min(2*c.pause, 5*c.times.Look)
	}
	switch {
	case err != nil: // it is asked again
	case !c.place.same(at):
		c.abort(now, ErrEnded.Error(), ErrEnded)
	case at.Executor == "": // it may come back, and says so then
		c.place, c.missed = at, false
		c.Missed(now)
	case at != c.place || c.missed:
		c.place = at
		c.again(now)
	case !c.stream.Settled(): // if it has come, the runner says what it has taken; if it has not, it is taken now
		c.relay(now, c.stream.sent[0])
	}
}

// Wake does what is due.
func (c *Caller) Wake(now time.Time) {
	switch {
	case c.over:
	case !c.connect.IsZero() && !now.Before(c.connect):
		c.abort(now, ErrConnect.Error(), ErrConnect)
	case !now.Before(c.moved.Add(c.times.Idle)):
		c.abort(now, ErrIdle.Error(), ErrIdle)
	default:
		if !c.asking && !now.Before(c.due) {
			c.asking = true
			c.do(Ask{})
		}
		if !now.Before(c.spoke.Add(c.times.Alive)) {
			c.relay(now, c.stream.Ack())
		}
	}
}

// Next is when Wake is due; zero: nothing is.
func (c *Caller) Next() time.Time {
	if c.over {
		return time.Time{}
	}
	next := c.moved.Add(c.times.Idle)
	for _, t := range []time.Time{c.connect, c.spoke.Add(c.times.Alive)} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if !c.asking && c.due.Before(next) {
		next = c.due
	}
	return next
}
