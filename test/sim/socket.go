package sim

import (
	"slices"
	"time"

	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// phase is how far a socket has come.
type phase int

const (
	opened   phase = iota // its first frame is waited for
	greeting              // the pool is asked for its session
	serving               // it has one
	gone                  // there is no socket any more; the pool may not know yet
)

// socket is one between an executor and a runner, with the executor's side of it.
type socket struct {
	x    *executor
	r    *runner
	of   events.Connection
	pool string // id of the entity
	cut  bool   // nothing passes any more, and nobody has noticed

	toExecutor []toExecutor // frames on their way, oldest first
	toRunner   []toRunner

	phase   phase
	name    string // of the runner, for people
	runner  string // id of the session
	session uint64
	began   time.Time // or since when the pool is asked
	heard   time.Time
	silent  bool // the pool was told that it is

	nextEvent, nextCommand uint64
	telling
}

// toExecutor is a frame, or the end of the runner's side.
type toExecutor struct {
	frame frames.ToServer
	ended string // empty: it has not
}

// toRunner is a frame, or the end of the executor's side.
type toRunner struct {
	frame  frames.ToClient
	close  *frames.Close
	broken bool
}

// open takes a socket of a runner.
func (x *executor) open(r *runner) *socket {
	x.last++
	now := time.Now()
	s := &socket{x: x, r: r, of: events.Connection{Executor: x.name, Number: x.last}, pool: events.PoolOf(r.pool), began: now, heard: now}
	x.sockets = append(x.sockets, s)
	return s
}

func (s *socket) String() string { return s.r.name + " at " + s.x.name }

func (s *socket) serves() bool { return s.phase == serving }

// readable reports whether something has come that may be read: not while the pool is asked.
func (s *socket) readable() bool {
	if s.cut || s.phase == gone || len(s.toExecutor) == 0 {
		return false
	}
	return s.phase != greeting || s.toExecutor[0].ended != ""
}

// read reads one frame, or some.
func (s *socket) read() {
	for n := 1 + s.x.g.w.rng.IntN(4); n > 0 && s.readable(); n-- {
		next := s.toExecutor[0]
		s.toExecutor = s.toExecutor[1:]
		s.heard = time.Now()
		if next.ended != "" {
			s.end(next.ended)
			return
		}
		s.receive(next.frame)
	}
}

func (s *socket) receive(f frames.ToServer) {
	if s.phase == opened {
		s.greet(f.(*frames.ToServerInit))
		return
	}
	if s.silent {
		s.silent = false
		s.next.Silent, s.next.Heard = false, true
		s.flush()
	}
	switch f := f.(type) {
	case *frames.ToServerPing:
		s.send(&frames.ToClientPong{Ts: f.Ts})
	case *frames.ToServerEvents:
		s.reported(f.Events)
	case *frames.ToServerAckCommands:
		s.next.Received = max(s.next.Received, uint64(f.LastCommandIdx)+1)
		s.flush()
	case *frames.ToServerStopping:
		s.stopping = true
		s.flush()
	default:
		s.x.g.w.fail("%s says %T", s, f)
	}
}

// greet asks the pool for the session of the runner.
func (s *socket) greet(f *frames.ToServerInit) {
	hello := &events.RunnerHello{Key: s.r.key, Name: f.Name, Version: f.Version, Slots: f.TotalSlots, Instance: f.Instance, Metadata: f.Metadata, Address: s.x.name}
	if f.LastCommandIdx != nil {
		hello.Received = uint64(*f.LastCommandIdx + 1)
	}
	for _, p := range f.PrepopulateTaskNames {
		hello.Names = append(hello.Names, events.TaskName{Name: p.Key, Metadata: p.Value})
	}
	s.phase, s.name, s.began = greeting, f.Name, time.Now()
	s.x.say("passing", s.pool, &events.RunnerReport{Connection: s.of, Hello: hello}, func() {})
}

// command does what the pool wants.
func (s *socket) command(m *events.RunnerCommands, at service) {
	switch {
	case m.Welcome != nil && s.phase == greeting:
		s.phase, s.runner, s.session = serving, m.Runner, m.Welcome.Session
		s.nextEvent, s.count, s.acked = m.Welcome.Events, m.Welcome.Events, m.Welcome.Events
		if at.offset >= s.x.g.served[s.runner].offset { // that of one runner are in one partition
			s.x.g.served[s.runner] = at
		}
		s.send(&frames.ToClientInit{
			RunnerID: m.Runner, LastEventIdx: int64(m.Welcome.Events) - 1,
			Metadata: frames.Terms{RunnerLostThreshold: m.Welcome.Threshold, PingTimeout: pingTime.Milliseconds()},
		})
		s.order(m.Commands)
	case s.phase == serving:
		s.order(m.Commands)
	}
	if m.Close != "" {
		s.dismiss(m.Close)
	}
}

// order sends commands that are new.
func (s *socket) order(all []events.RunnerCommand) {
	f := &frames.ToClientCommands{}
	for i := range all {
		c := &all[i]
		if c.Index < s.nextCommand {
			continue
		}
		s.nextCommand = c.Index + 1
		o, err := runners.Ordered(c)
		if err != nil {
			s.x.g.w.fail("command %d to %s: %w", c.Index, s, err)
			continue
		}
		f.Commands = append(f.Commands, frames.Command{Index: int64(c.Index), Inner: o})
	}
	if len(f.Commands) > 0 {
		s.send(f)
	}
}

func (s *socket) send(f frames.ToClient) {
	if s.phase != gone {
		s.toRunner = append(s.toRunner, toRunner{frame: f})
	}
}

// dismiss closes a socket because the pool wants it.
func (s *socket) dismiss(why string) {
	c := frames.Close{Code: frames.CloseInvalidURL.Code, Reason: why}
	switch why {
	case frames.CloseEviction.Reason:
		c = frames.CloseEviction
		s.send(&frames.ToClientClose{Reason: why})
	case frames.CloseGoingAway.Reason:
		c = frames.CloseGoingAway
	}
	s.shut(c)
}

// shut closes a socket: what was sent comes before the end.
func (s *socket) shut(c frames.Close) {
	if s.phase == gone {
		return
	}
	s.toRunner = append(s.toRunner, toRunner{close: &c})
	s.end(c.Reason)
}

// end is behind the last frame that the executor reads. The socket stays until its pool knows.
func (s *socket) end(why string) {
	s.phase, s.next.Closed = gone, why
	if s.runner == "" { // if it gets a session yet, the pool is told then
		s.x.remove(s)
		return
	}
	s.flush()
}

func (x *executor) remove(s *socket) {
	x.sockets = slices.DeleteFunc(x.sockets, func(other *socket) bool { return other == s })
}

// due reports whether there is something to do because of the time.
func (s *socket) due(now time.Time) bool {
	silence := now.Sub(s.heard)
	switch s.phase {
	case opened:
		return now.Sub(s.began) >= initTime
	case greeting:
		return now.Sub(s.began) >= welcomeTime
	case serving:
		return s.count != s.acked && now.Sub(s.since) >= ackTime || silence >= pingTime || silence >= silentTime && !s.silent
	case gone:
	}
	return false
}

// look does what is due.
func (s *socket) look(now time.Time) {
	if !s.due(now) {
		return
	}
	silence := now.Sub(s.heard)
	switch {
	case s.phase == opened:
		s.shut(frames.CloseInitTimeout)
	case s.phase == greeting:
		s.shut(frames.CloseUnavailable)
	case silence >= pingTime:
		s.shut(frames.ClosePingTimeout)
	case silence >= silentTime && !s.silent:
		s.silent = true
		s.next.Silent, s.next.Heard = true, false
		s.flush()
	default:
		s.acknowledge()
	}
}
