package pool

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/rows"
)

// fired looks after what is due, as much of it as one record takes.
func (t *turn) fired(limited bool) {
	var keys []rows.Key
	room := mostHeld
	rows.Scan(t.tx, rows.Key{Table: rows.Watch, Workflow: t.id}, func(k rows.Key, _ *nothing) bool {
		if k.A > uint64(t.now) {
			return false
		}
		if k.B == dueSession {
			if s := t.session(k.C); s != nil { // sessionDue passes one that is not there
				room -= int(s.Used)
			}
		}
		keys = append(keys, k)
		return !limited && room > 0 && len(keys) < mostEach
	})
	swept := events.PoolSwept{}
	for _, k := range keys {
		switch k.B {
		case dueWork:
			t.workDue(k.C)
		case dueSession:
			if t.sessionDue(k.C) {
				swept.Sessions = append(swept.Sessions, k.C)
			}
		case dueExecutor:
			t.executorDue(k.C)
		case dueForestalled:
			swept.Forestalled = append(swept.Forestalled, k.C)
		}
	}
	t.ask()
	if len(swept.Sessions)+len(swept.Forestalled) > 0 {
		t.emit(&swept)
	}
}

// workDue asks for an attempt that runs for long, and gives one up whose runner has not said in time that it runs, or that it has stopped. The runner gets
// no more work until it says something.
func (t *turn) workDue(n uint64) {
	w := t.work(n)
	if w == nil || w.Due == 0 || w.Due > t.now {
		return
	}
	if w.Begun && w.Stop == "" {
		t.emit(&events.WorkAsked{Number: n, Token: w.Token, Due: t.now + max(t.now-w.Given, t.settings.Recheck.Milliseconds())})
		return
	}
	of, s := w.Session, t.session(w.Session)
	if w.Stop == "" {
		t.stopWork(n, w, events.StopLost, 0)
		if t.work(n) == nil {
			return // its session is over
		}
	}
	t.lose(n, t.work(n), events.PoolLost, stopReasons[events.StopLost])
	switch {
	case s.State == draining:
		t.done(of)
	case s.Passed == "" && s.State == connected:
		t.emit(&events.RunnerPassedOver{Session: of, Reason: unconfirmed})
	}
}

// sessionDue ends a session that has not come back in time, and reports whether one is to be forgotten.
func (t *turn) sessionDue(n uint64) (forget bool) {
	s := t.session(n)
	switch {
	case s == nil || s.Due > t.now:
	case s.State == stopped:
		return true
	case s.State == draining:
		t.stop(n, s.Reason+", and its time was over", frames.CloseEviction.Reason)
	case s.State == connected:
		t.stop(n, "it goes to another shard of the pool", frames.CloseGoingAway.Reason)
	default:
		t.stop(n, "it has not come back in time: "+s.Reason, frames.CloseEviction.Reason)
	}
	return false
}

// executorDue takes the sockets of an executor for gone that has not said in time that it is there.
func (t *turn) executorDue(x uint64) {
	row := rows.Get[executor](t.tx, executorKey(t.id, x))
	if row == nil || row.Until > t.now {
		return
	}
	var sessions []uint64
	rows.Scan(t.tx, socketKey(t.id, x, 0), func(k rows.Key, _ *nothing) bool {
		if k.A == x {
			sessions = append(sessions, k.B)
		}
		return k.A == x && len(sessions) < mostEach
	})
	for _, n := range sessions {
		t.gone(n, "its executor fell silent", t.session(n).To)
	}
	if len(sessions) < mostEach {
		t.emit(&events.ExecutorGone{Number: x})
	}
}
