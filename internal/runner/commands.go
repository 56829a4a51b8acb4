package runner

import (
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// commands are what is known of the server's commands.
type commands struct {
	last    int64 // received; -1: none
	acked   int64 // acknowledged
	offered int64 // last when the socket was opened, which tells the server so
	nextAck time.Time
}

// receive does commands that are new. What is sent again has not been acknowledged: it is now.
func (m *commands) receive(s *Session, now time.Time, all []frames.Command) {
	again := false
	for _, c := range all {
		if c.Index <= m.last {
			again = true
			continue
		}
		if m.last >= 0 && c.Index > m.last+1 {
			s.do(Warn{"commands of the server are missing before this one", c.Index})
		}
		m.last = c.Index
		switch o := c.Inner.(type) {
		case *frames.StartTask:
			s.attempts.start(s, now, o)
		case *frames.StopTask:
			if o.Reason == frames.StopGoingAway {
				s.attempts.leave(s, now, o.Token)
			} else {
				s.attempts.stop(s, o.Token, o.Reason)
			}
		}
	}
	if again || m.last-m.acked >= ackEvery {
		m.ack(s)
	}
}

func (m *commands) ack(s *Session) {
	m.acked = m.last
	s.send(&frames.ToServerAckCommands{LastCommandIdx: m.last})
}

// acknowledge says from time to time what has been received.
func (m *commands) acknowledge(s *Session, now time.Time) {
	if now.Before(m.nextAck) {
		return
	}
	m.nextAck = now.Add(s.times.AckCommands)
	if m.last > m.acked {
		m.ack(s)
	}
}

func (m *commands) next() time.Time { return m.nextAck }
