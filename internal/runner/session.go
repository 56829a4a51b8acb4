package runner

import (
	"math"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// phase is what becomes of the socket.
type phase uint8

const (
	waiting   phase = iota // until it is time to dial
	dialing                // until the socket is open
	opening                // until ToClientInit
	connected              // until it breaks
	over
)

// Session is the life of a runner, over all of its sockets.
type Session struct {
	init   frames.ToServerInit
	times  Times
	random func() float64
	out    []Action

	phase    phase
	due      time.Time // waiting: to dial; dialing and opening: to give up
	tries    int       // sockets since the last ToClientInit
	heard    time.Time // connected: of the newest frame
	nextPing time.Time
	away     time.Time // since when there is no socket; zero: there is one, or there was none yet
	goodbye  bool      // ToClientClose has come

	id         string // "": none yet
	lost       time.Duration
	silence    time.Duration
	maxPayload int64

	commands commands
	events   reported
	attempts attempts
	requests requests
	tunnels  tunnels
	drain    drain
}

// New is a session that has not begun.
func New(c Config) *Session {
	t := c.Times.WithDefaults()
	return &Session{
		init: c.Init, times: t, random: c.Random,
		lost: t.Lost, silence: t.Silence, maxPayload: frames.DefaultMaxPayload,
		commands: commands{last: -1, acked: -1},
		attempts: attempts{slots: int(c.Init.TotalSlots), by: map[string]*attempt{}},
	}
}

func (s *Session) do(a Action) { s.out = append(s.out, a) }

func (s *Session) send(f frames.ToServer) { s.do(Send{f}) }

// Take is what is to be done for what has happened, in order; it is the caller's.
func (s *Session) Take() []Action {
	out := s.out
	s.out = nil
	return out
}

// Begin dials the first socket.
func (s *Session) Begin(now time.Time) { s.dial(now) }

func (s *Session) dial(now time.Time) {
	s.phase, s.due = dialing, now.Add(s.times.Init)
	s.do(Dial{})
}

// Opened says that the socket is open.
func (s *Session) Opened(time.Time) {
	if s.phase != dialing {
		return
	}
	s.phase = opening
	init := s.init
	if s.commands.last >= 0 {
		last := s.commands.last
		init.LastCommandIdx = &last
	}
	init.RunnerID = s.id
	s.commands.offered = s.commands.last
	s.send(&init)
}

// Broken says that the socket has ended, or could not be opened; without a close frame c is zero.
func (s *Session) Broken(now time.Time, c frames.Close) {
	if s.phase == waiting || s.phase == over {
		return
	}
	was := s.phase
	s.phase = waiting
	s.requests.broken(s)
	if was == connected {
		s.away = now
		s.do(Disconnected{c})
	}
	switch {
	case s.drain.stopping:
		s.finish(nil)
	case c.Final() || s.goodbye:
		s.finish(ErrEvicted)
	case c == frames.CloseInvalidURL:
		s.finish(ErrURL)
	default:
		s.due = now.Add(s.delay())
		s.tries++
	}
}

// delay is how long to wait before the next socket.
func (s *Session) delay() time.Duration {
	d := float64(s.times.FirstReconnect) * math.Pow(2, float64(min(s.tries, 62)))
	d = min(d, float64(s.times.LastReconnect))
	return time.Duration(d * (1 + s.random()/4))
}

// hangup closes a socket that is of no use, and tries another one.
func (s *Session) hangup(now time.Time, c frames.Close) {
	s.do(Hangup{c})
	s.Broken(now, frames.Close{})
}

// Received is a frame of the server.
func (s *Session) Received(now time.Time, f frames.ToClient) {
	if init, ok := f.(*frames.ToClientInit); ok && s.phase == opening {
		s.connected(now, init)
		return
	}
	if s.phase != connected && s.phase != opening {
		return
	}
	s.heard = now
	switch f := f.(type) {
	case *frames.ToClientCommands:
		s.commands.receive(s, now, f.Commands)
	case *frames.ToClientAckEvents:
		s.events.acked(f.LastEventIdx)
		s.look(now)
	case *frames.ToClientKvResponse:
		s.requests.answered(s, f)
	case *frames.ToClientTunnel:
		s.tunnels.receive(s, now, &f.Tunnel)
	case *frames.ToClientClose:
		s.goodbye = true
	}
}

// connected takes what the server says of the session, then sends what has waited for it.
func (s *Session) connected(now time.Time, init *frames.ToClientInit) {
	s.phase, s.tries, s.heard = connected, 0, now
	s.nextPing = now.Add(s.times.Ping)
	s.away = time.Time{}
	s.terms(init.Metadata)
	again := s.id == init.RunnerID
	if s.id != "" && !again {
		s.replaced()
	}
	s.id = init.RunnerID
	if again {
		s.commands.acked = max(s.commands.acked, s.commands.offered)
	}
	s.commands.nextAck = now.Add(s.times.AckCommands)
	s.requests.resume(s)
	s.events.resume(s, init.LastEventIdx)
	s.tunnels.resume(s, now)
	s.attempts.beats(s, now)
	s.do(Connected{RunnerID: s.id, Again: again})
}

func (s *Session) terms(t frames.Terms) {
	if t.RunnerLostThreshold > 0 {
		s.lost = time.Duration(t.RunnerLostThreshold) * time.Millisecond
	}
	if t.PingTimeout > 0 {
		s.silence = time.Duration(t.PingTimeout) * time.Millisecond
	}
	if t.Limits.MaxPayload > 0 {
		s.maxPayload = t.Limits.MaxPayload
	}
}

// replaced forgets the session that the server has forgotten. Whatever has ended is still reported.
func (s *Session) replaced() {
	s.attempts.haltAll(s, StopReplaced, false)
	s.tunnels.drop(s, "the runner has another session")
	s.events.keepEnds()
	s.commands = commands{last: -1, acked: -1}
}

// Wake does what is due.
func (s *Session) Wake(now time.Time) {
	if s.phase == over {
		return
	}
	s.requests.expire(s, now)
	s.attempts.left(s, now)
	if reached(s.away, s.lost, now) && s.attempts.any() {
		s.attempts.haltAll(s, frames.StopLost, true)
	}
	switch {
	case s.phase == waiting && !now.Before(s.due):
		s.dial(now)
	case (s.phase == dialing || s.phase == opening) && !now.Before(s.due):
		s.hangup(now, frames.CloseInitTimeout)
	case s.phase == connected && !now.Before(s.heard.Add(s.silence)):
		s.hangup(now, frames.ClosePingTimeout)
	case s.phase == connected:
		s.keep(now)
	}
}

// keep is what a connected runner does from time to time.
func (s *Session) keep(now time.Time) {
	if !now.Before(s.nextPing) {
		s.nextPing = now.Add(s.times.Ping)
		s.send(&frames.ToServerPing{Ts: now.UnixMilli()})
	}
	s.commands.acknowledge(s, now)
	s.attempts.beats(s, now)
	s.tunnels.silent(s, now)
	s.look(now)
}

func reached(since time.Time, d time.Duration, now time.Time) bool {
	return !since.IsZero() && !now.Before(since.Add(d))
}

// Next is when Wake is due; zero: nothing is.
func (s *Session) Next() time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if s.phase == over {
		return next
	}
	sooner(s.requests.next())
	sooner(s.attempts.next(s.phase == connected))
	if s.phase != connected {
		sooner(s.due)
		if !s.away.IsZero() && s.attempts.haltable() {
			sooner(s.away.Add(s.lost))
		}
		return next
	}
	sooner(s.heard.Add(s.silence))
	sooner(s.nextPing)
	sooner(s.commands.next())
	sooner(s.tunnels.next())
	if s.drain.stopping {
		sooner(s.drain.nextLook)
	}
	return next
}
