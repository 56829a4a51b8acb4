package pool

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// changed is a session for changing. Its place in the order of allocation is taken away, and it is not counted; settle gives it one again, and counts it.
func (t *turn) changed(n uint64) *session {
	k := sessionKey(t.id, n)
	if rows.Get[session](t.tx, k) == nil {
		return nil
	}
	s := rows.Change[session](t.tx, k)
	t.h().Runners.add(s, -1)
	if s.Listed {
		s.Listed = false
		t.tx.Delete(placeKey(t.id, s, n))
	}
	return s
}

// settle gives a session its place among those that get work, and its time.
func (t *turn) settle(n uint64, s *session) {
	t.h().Runners.add(s, 1)
	if s.State == connected && !s.Away {
		s.Listed = true
		t.tx.Put(placeKey(t.id, s, n), &nothing{})
	}
	due := int64(0)
	switch s.State {
	case lost, draining:
		due = s.Expires
	case stopped:
		due = s.Stopped + t.settings.Remember.Milliseconds()
	case connected: // until it is not, unless it belongs elsewhere
		if s.Away && s.Used == 0 {
			due = t.now
		}
	}
	t.due(dueSession, n, &s.Due, due)
}

func (t *turn) joined(e *events.RunnerJoined) {
	t.there()
	h := t.h()
	h.Sessions = e.Session
	h.Alive++
	s := &session{
		Runner: e.Runner, Key: e.Key, Name: e.Name, Version: e.Version, Slots: e.Slots, Instance: e.Instance,
		State: lost, Joined: t.now, Seen: t.now, Expires: t.now + t.settings.Threshold.Milliseconds(),
	}
	t.settle(e.Session, s)
	t.tx.Put(sessionKey(t.id, e.Session), s)
	t.named(byKey, e.Key, e.Session)
}

func (t *turn) connected(e *events.RunnerConnected) {
	s := t.changed(e.Session)
	if s == nil {
		return
	}
	t.unplug(e.Session, s)
	s.State, s.To, s.Address = connected, e.To, e.Address
	t.tx.Put(profileKey(t.id, e.Session), &profile{Names: e.Names, Metadata: e.Metadata})
	s.Passed, s.Reason, s.Seen, s.Expires = "", "", t.now, 0
	if x := t.numberOf(byExecutor, e.To.Executor); x != 0 {
		t.tx.Put(socketKey(t.id, x, e.Session), &nothing{})
	}
	t.acknowledged(e.Session, s, e.Received)
	t.settle(e.Session, s)
}

// unplug takes a session's socket away.
func (t *turn) unplug(n uint64, s *session) {
	if x := t.numberOf(byExecutor, s.To.Executor); x != 0 {
		t.tx.Delete(socketKey(t.id, x, n))
	}
	s.To = events.Connection{}
}

func (t *turn) disconnected(e *events.RunnerDisconnected) {
	s := t.changed(e.Session)
	if s == nil {
		return
	}
	t.unplug(e.Session, s)
	if s.State == connected {
		s.State = lost
	}
	s.Seen, s.Expires = t.now, e.Expires
	if s.State == lost {
		s.Reason = e.Reason
	}
	t.settle(e.Session, s)
}

func (t *turn) draining(e *events.RunnerDraining) {
	s := t.changed(e.Session)
	if s == nil {
		return
	}
	s.State, s.Reason, s.Drain, s.Expires = draining, e.Reason, t.now, e.Expires
	s.Evict = e.Upgraded || e.By != events.By{}
	t.settle(e.Session, s)
}

// stopped ends a session. Its attempts are over by events of their own.
func (t *turn) stopped(e *events.RunnerStopped) {
	s := t.changed(e.Session)
	if s == nil || s.State == stopped {
		return
	}
	t.unplug(e.Session, s)
	s.State, s.Reason, s.Stopped, s.Passed = stopped, e.Reason, t.now, ""
	s.Expires = t.now
	h := t.h()
	h.Alive--
	h.Kept++
	if t.numberOf(byKey, s.Key) == e.Session {
		t.tx.Delete(nameKey(t.id, byKey, s.Key))
	}
	t.deleteCommands(e.Session, s.Commands)
	t.settle(e.Session, s)
}

// deleteCommands forgets the commands of a session below an index.
func (t *turn) deleteCommands(n, below uint64) {
	var keys []rows.Key
	rows.Scan(t.tx, commandKey(t.id, n, 0), func(k rows.Key, _ *command) bool {
		within := k.A == n && k.B < below
		if within {
			keys = append(keys, k)
		}
		return within
	})
	for _, k := range keys {
		c := rows.Get[command](t.tx, k)
		if c.Stop == "" && t.work(c.Number) != nil {
			rows.Change[work](t.tx, workKey(t.id, c.Number)).Task = nil
		}
		t.tx.Delete(k)
	}
}

// acknowledged forgets the commands that a runner has received.
func (t *turn) acknowledged(n uint64, s *session, received uint64) {
	if received > s.Received {
		s.Received = received
		t.deleteCommands(n, received)
	}
}

func (t *turn) progressed(e *events.RunnerProgressed) {
	s := t.changed(e.Session)
	if s == nil {
		return
	}
	s.Events, s.Seen = e.Events, t.now
	t.acknowledged(e.Session, s, e.Received)
	t.settle(e.Session, s)
}

func (t *turn) passedOver(e *events.RunnerPassedOver) {
	if s := t.changed(e.Session); s != nil {
		s.Passed = e.Reason
		t.settle(e.Session, s)
	}
}

func (t *turn) executorHeard(e *events.ExecutorHeard) {
	t.there()
	k := executorKey(t.id, e.Number)
	if rows.Get[executor](t.tx, k) == nil {
		h := t.h()
		h.Executors = max(h.Executors, e.Number)
		h.Kept++
		t.tx.Put(k, &executor{ID: e.Executor})
		t.named(byExecutor, e.Executor, e.Number)
	}
	x := rows.Change[executor](t.tx, k)
	t.due(dueExecutor, e.Number, &x.Until, e.Until)
}

func (t *turn) executorGone(e *events.ExecutorGone) {
	k := executorKey(t.id, e.Number)
	if rows.Get[executor](t.tx, k) == nil {
		return
	}
	x := *rows.Get[executor](t.tx, k)
	t.due(dueExecutor, e.Number, &x.Until, 0)
	t.tx.Delete(nameKey(t.id, byExecutor, x.ID))
	t.tx.Delete(k)
	t.h().Kept--
}
