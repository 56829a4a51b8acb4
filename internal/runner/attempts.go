package runner

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// attempts are what the runner has to do: as many run as there are slots. More than that come only where an
// attempt that was stopped does not end.
type attempts struct {
	slots   int
	running int
	order   []*attempt // as they came
	by      map[string]*attempt
}

// attempt is one that has not ended.
type attempt struct {
	task    *frames.StartTask
	started bool
	halted  bool      // its context has ended
	leaveBy time.Time // when it does, because the runner is going away; zero: that is not known

	details  json.RawMessage
	unsent   bool // details wait for their time
	nextBeat time.Time
}

func (a *attempts) any() bool { return len(a.order) > 0 }

// haltable reports whether some attempt goes on.
func (a *attempts) haltable() bool {
	return slices.ContainsFunc(a.order, func(t *attempt) bool { return !t.halted })
}

// start begins an attempt, or lets it wait for a slot.
func (a *attempts) start(s *Session, _ time.Time, t *frames.StartTask) {
	if a.by[t.Token] != nil {
		return
	}
	if s.drain.stopping {
		s.events.add(s, notStarted(t.Token, frames.StopGoingAway))
		return
	}
	one := &attempt{task: t}
	a.by[t.Token] = one
	a.order = append(a.order, one)
	a.fill(s)
}

// fill starts what waits, as far as there are slots.
func (a *attempts) fill(s *Session) {
	for _, t := range a.order {
		if a.running >= a.slots {
			return
		}
		if !t.started {
			t.started = true
			a.running++
			s.do(Start{t.task})
			s.events.add(s, &frames.TaskState{Token: t.task.Token, State: frames.StateRunning})
		}
	}
}

// leave tells an attempt that the runner is going away. One that runs has a while to end by itself.
func (a *attempts) leave(s *Session, now time.Time, token string) {
	t := a.by[token]
	if t == nil || !t.started {
		a.stop(s, token, frames.StopGoingAway)
		return
	}
	if t.leaveBy.IsZero() && !t.halted {
		t.leaveBy = now.Add(s.times.Drain - s.times.Drain/10) // so that its end is told before the runner closes
		s.do(Leave{token})
	}
}

// leaveAll tells all attempts that the runner stops.
func (a *attempts) leaveAll(s *Session, now time.Time) {
	for _, t := range slices.Clone(a.order) {
		a.leave(s, now, t.task.Token)
	}
}

// left ends the contexts of those that have had their while.
func (a *attempts) left(s *Session, now time.Time) {
	for _, t := range a.order {
		if t.leaving() && !now.Before(t.leaveBy) {
			a.stop(s, t.task.Token, frames.StopGoingAway)
		}
	}
}

// leaving reports whether its context is yet to end because the runner is going away.
func (t *attempt) leaving() bool { return !t.halted && !t.leaveBy.IsZero() }

// stop ends an attempt; one that is not known has ended.
func (a *attempts) stop(s *Session, token string, reason frames.StopReason) {
	t := a.by[token]
	switch {
	case t == nil || t.halted:
	case t.started:
		t.halted = true
		s.do(Halt{token, reason})
	default:
		a.remove(t)
		s.events.add(s, notStarted(token, reason))
	}
}

// haltAll ends the contexts of all attempts. Those that wait for a slot are given up; whether that is told depends.
func (a *attempts) haltAll(s *Session, reason frames.StopReason, tell bool) {
	for _, t := range slices.Clone(a.order) {
		if !t.started && !tell {
			a.remove(t)
			continue
		}
		a.stop(s, t.task.Token, reason)
	}
}

func (a *attempts) remove(t *attempt) {
	delete(a.by, t.task.Token)
	i := slices.Index(a.order, t)
	a.order = slices.Delete(a.order, i, i+1)
}

// notStarted says that an attempt will not begin here.
func notStarted(token string, reason frames.StopReason) *frames.TaskState {
	return &frames.TaskState{Token: token, State: frames.StateStopped, Error: &frames.TaskError{
		Type: string(reason), Message: "the attempt was stopped before it had begun",
	}}
}

// Ended is how an attempt that was started has ended: its State is stopped, or detached.
func (s *Session) Ended(now time.Time, end *frames.TaskState) {
	t := s.attempts.by[end.Token]
	if t == nil || !t.started {
		return
	}
	s.attempts.remove(t)
	s.attempts.running--
	if s.phase == over {
		return
	}
	s.tunnels.endAll(s, "the attempt has ended", func(one *visit) bool { return one.token == end.Token && !one.said })
	if t.unsent && end.Error != nil { // the next attempt gets them
		s.events.add(s, &frames.Heartbeat{Token: end.Token, Details: t.details})
	}
	s.events.add(s, s.bounded(end))
	s.attempts.fill(s)
	s.look(now)
}

// frameOverhead is what a frame with a result has besides it, at most.
const frameOverhead = 8 << 10

// MaxResult is how many bytes a result may have.
func (s *Session) MaxResult() int64 { return max(0, s.maxPayload-frameOverhead) }

// bounded is an end that fits a frame.
func (s *Session) bounded(end *frames.TaskState) *frames.TaskState {
	if int64(len(end.Result)) <= s.MaxResult() {
		return end
	}
	return tooLarge(end.Token, len(end.Result), s.MaxResult())
}

// Ask says something of an attempt that was started: an intent, an alarm.
func (s *Session) Ask(_ time.Time, r frames.Report) {
	if t := s.attempts.by[r.Attempt()]; t != nil && t.started && s.phase != over {
		s.events.add(s, r)
	}
}

// Beat keeps the newest details of an attempt: they are sent from time to time.
func (s *Session) Beat(now time.Time, token string, details json.RawMessage) {
	t := s.attempts.by[token]
	if t == nil || !t.started {
		return
	}
	t.details, t.unsent = details, true
	if s.phase == connected {
		s.attempts.beat(s, now, t)
	}
}

// beats sends the details whose time has come.
func (a *attempts) beats(s *Session, now time.Time) {
	for _, t := range a.order {
		a.beat(s, now, t)
	}
}

func (a *attempts) beat(s *Session, now time.Time, t *attempt) {
	if !t.unsent || now.Before(t.nextBeat) {
		return
	}
	every := s.times.Heartbeat
	if limit := time.Duration(t.task.HeartbeatTimeout) * time.Millisecond; limit > 0 {
		every = min(every, limit/3)
	}
	t.unsent, t.nextBeat = false, now.Add(every)
	s.events.add(s, &frames.Heartbeat{Token: t.task.Token, Details: t.details})
}

// next is when something of an attempt is due; zero: nothing is. Heartbeats are due where there is a socket.
func (a *attempts) next(connected bool) time.Time {
	var next time.Time
	for _, t := range a.order {
		if t.unsent && connected && (next.IsZero() || t.nextBeat.Before(next)) {
			next = t.nextBeat
		}
		if t.leaving() && (next.IsZero() || t.leaveBy.Before(next)) {
			next = t.leaveBy
		}
	}
	return next
}
