package runner

import (
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// drain is the end of a runner that lets its attempts end.
type drain struct {
	stopping bool
	until    time.Time
	nextLook time.Time
	idle     time.Time // since when no attempt runs; zero: some do
}

// Stop takes no more attempts, lets those that run end, and closes. Without a socket it is over at once.
func (s *Session) Stop(now time.Time) {
	if s.drain.stopping || s.phase == over {
		return
	}
	s.drain = drain{stopping: true, until: now.Add(s.times.Drain), nextLook: now.Add(s.times.DrainLook)}
	if s.phase != connected {
		s.finish(nil)
		return
	}
	s.send(&frames.ToServerStopping{})
	s.attempts.leaveAll(s, now)
	s.look(now)
}

// StopNow closes at once. What runs is lost.
func (s *Session) StopNow(time.Time) {
	if s.phase != over {
		s.finish(nil)
	}
}

// look says whether a runner that stops has nothing left to wait for.
func (s *Session) look(now time.Time) {
	d := &s.drain
	if !d.stopping || s.phase != connected {
		return
	}
	if !now.Before(d.nextLook) {
		d.nextLook = now.Add(s.times.DrainLook)
	}
	switch {
	case s.attempts.any():
		d.idle = time.Time{}
	case d.idle.IsZero():
		d.idle = now
	}
	told := len(s.events.open) == 0 || reached(d.idle, s.times.Acks, now)
	if !s.attempts.any() && told || !now.Before(d.until) {
		s.finish(nil)
	}
}

// finish is the end of everything.
func (s *Session) finish(err error) {
	s.tunnels.endAll(s, "the runner has stopped", func(*visit) bool { return true })
	if s.phase == connected || s.phase == opening || s.phase == dialing {
		was := s.phase
		s.do(Hangup{frames.CloseRunnerShutdown})
		if was == connected {
			s.do(Disconnected{frames.CloseRunnerShutdown})
		}
	}
	s.phase = over
	s.requests.reject(s, ErrOver, func(request) bool { return true })
	s.attempts.haltAll(s, StopShutdown, false)
	s.do(Over{err})
}
