package runners

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// keep does what is due of all sockets.
func (s *Server) keep(ctx context.Context) {
	t := s.config.Times
	tick := time.NewTicker(t.Look)
	defer tick.Stop()
	var all []*session
	present := s.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		all = s.listed(all[:0])
		s.mu.Unlock()
		now := s.now()
		for _, one := range all {
			one.look(now)
		}
		if now-present >= t.Present {
			present = now
			s.present(all)
		}
		clear(all)
	}
}

// present says to each pool with sockets here that this executor is there.
func (s *Server) present(all []*session) {
	said := map[string]bool{}
	for _, one := range all {
		pool := one.entity()
		if said[pool] || !one.serves() {
			continue
		}
		said[pool] = true
		s.say(s.passing, pool, &events.RunnerReport{Connection: events.Connection{Executor: s.id}}, func(_ *kgo.Record, err error) {
			if err != nil { // it is said again soon
				s.log.Debug("a pool does not hear that this executor is there", "pool", pool, "error", err)
			}
		})
	}
}

func (s *session) serves() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase == serving
}

// look does what is due of a socket.
func (s *session) look(now time.Duration) {
	closes, flush := s.due(now)
	if closes != nil {
		s.shut(*closes)
	}
	if flush {
		s.flush()
	}
}

// due says for what a socket is to be closed now, and whether there is something to tell its pool.
func (s *session) due(now time.Duration) (closes *frames.Close, flush bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.server.config.Times
	flush = s.tells.failed && now >= s.tells.retry
	if s.phase == gone || s.closing != nil {
		return nil, flush
	}
	if s.tells.count != s.tells.acked && now-s.tells.since >= t.Ack {
		s.acknowledge(true)
	}
	silence := now - time.Duration(s.heard.Load())
	switch {
	case s.phase == opened && now-s.began >= t.Init:
		return &frames.CloseInitTimeout, flush
	case s.phase == greeting && now-s.greeted >= t.Welcome:
		return &frames.CloseUnavailable, flush
	case s.out.writing && now-s.out.since >= t.Write:
		return &frames.CloseSlow, flush
	case s.phase != serving:
	case s.paused.Load():
		s.pulse(now)
	case silence >= t.Ping:
		return &frames.ClosePingTimeout, flush
	case silence >= t.Silence && !s.silent:
		s.silent = true
		s.tells.next.Silent, s.tells.next.Heard = true, false
		flush = true
	}
	return nil, flush
}

// pulse tells a runner that is not read now that its server is there: it would else leave, find no pool that answers, and stop what it runs. The
// caller holds s.mu.
func (s *session) pulse(now time.Duration) {
	if now-s.pulsed >= s.server.config.Times.Ping/3 {
		s.pulsed = now
		s.enqueue(&frames.ToClientPong{})
	}
}
