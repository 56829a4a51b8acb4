package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/wire"
)

// limits are times (Unix ms) until which something must have happened to a runnable, by its
// policy; 0: there is no such limit. They are replaced as a whole: versions of a row share them.
type limits struct {
	Start   int64 // a worker has begun the attempt, or the one that follows when it is handed back
	Begun   bool  // one has
	Unknown bool  // a worker has handed it back that does not know the task
	Whole   int64 // the runnable has ended
	Silent  int64 // the attempt has given its next heartbeat
}

// Fields implements wire.Message.
func (l *limits) Fields(c *wire.Codec) {
	wire.Int(c, 1, "start", &l.Start)
	c.Bool(2, "begun", &l.Begun)
	c.Bool(3, "unknown", &l.Unknown)
	wire.Int(c, 4, "whole", &l.Whole)
	wire.Int(c, 5, "silent", &l.Silent)
}

// limit gives the limits of a runnable; where there are none they are empty.
func (r *runnable) limit() limits {
	if r.Limits == nil {
		return limits{}
	}
	return *r.Limits
}

// startDue is when the wait for a worker is over; 0: nobody waits, or for as long as it takes.
func (l limits) startDue() int64 {
	if l.Begun {
		return 0
	}
	return l.Start
}

// over reports whether the time of the runnable as a whole is.
func (l limits) over(now int64) bool { return l.Whole != 0 && now >= l.Whole }

// told says until when what must have happened, behind what is waited for; empty: there is no limit.
func (l limits) told() string {
	s := ""
	if due := l.startDue(); due != 0 {
		s = fmt.Sprintf("; one must begin it by %s (start_timeout)", events.Stamp(due))
	}
	if l.Silent != 0 {
		s += fmt.Sprintf("; it must give a heartbeat by %s (heartbeat_timeout)", events.Stamp(l.Silent))
	}
	if l.Whole != 0 {
		s += fmt.Sprintf("; it must be over by %s (deadline)", events.Stamp(l.Whole))
	}
	return s
}

// limitTo replaces the limits of a runnable, and their timers.
func (rs *runnables) limitTo(id events.RunnableID, r *runnable, to limits) {
	before := r.limit()
	rs.rearm(id, before.startDue(), to.startDue(), machine.TimerStart)
	rs.rearm(id, before.Whole, to.Whole, machine.TimerWhole)
	rs.rearm(id, before.Silent, to.Silent, machine.TimerSilent)
	if r.Limits = nil; to != (limits{}) {
		r.Limits = &to
	}
}

// rearm moves the timer of a limit.
func (rs *runnables) rearm(id events.RunnableID, from, to int64, kind uint64) {
	if from == to {
		return
	}
	if from != 0 {
		rs.tx.Delete(timerKey(rs.id, from, id, kind))
	}
	if to != 0 {
		rs.tx.Put(timerKey(rs.id, to, id, kind), &machine.Timer{})
	}
}

// limitStart bounds the wait for a worker.
func (rs *runnables) limitStart(id events.RunnableID, r *runnable, by int64) {
	if by != 0 {
		l := r.limit()
		l.Start = by
		rs.limitTo(id, r, l)
	}
}

// limitWhole bounds the runnable as a whole.
func (rs *runnables) limitWhole(id events.RunnableID, r *runnable, by int64) {
	if by != 0 {
		l := r.limit()
		l.Whole = by
		rs.limitTo(id, r, l)
	}
}

// begun notes that a worker has begun the attempt.
func (rs *runnables) begun(id events.RunnableID, r *runnable) {
	if l := r.limit(); l.Start != 0 {
		l.Begun = true
		rs.limitTo(id, r, l)
	}
}

// handedBack lets the wait for a worker go on.
func (rs *runnables) handedBack(id events.RunnableID, r *runnable, unknown bool) {
	if l := r.limit(); l.Start != 0 || l.Silent != 0 {
		l.Begun, l.Unknown, l.Silent = false, l.Unknown || unknown, 0
		rs.limitTo(id, r, l)
	}
}

// attemptOver takes away the limits of an attempt that has ended; those of its runnable stay.
func (rs *runnables) attemptOver(id events.RunnableID, r *runnable) {
	if l := r.limit(); l.Start != 0 || l.Silent != 0 {
		l.Start, l.Begun, l.Unknown, l.Silent = 0, false, false, 0
		rs.limitTo(id, r, l)
	}
}

// limitsAfter takes away the limits that an end of an attempt ends: those of its runnable stay for
// as long as that may go on. What is uncertain has no limit: no clock decides what became of it.
func (rs *runnables) limitsAfter(id events.RunnableID, r *runnable, action events.Action) {
	switch action {
	case events.ActionHalt, events.ActionSkip, events.ActionCatch, events.ActionHold:
		rs.unlimited(id, r)
	default:
		rs.attemptOver(id, r)
	}
}

// unlimited takes all limits away: the runnable has ended.
func (rs *runnables) unlimited(id events.RunnableID, r *runnable) {
	if r.Limits != nil {
		rs.limitTo(id, r, limits{})
	}
}

// startBy is until when a worker must have begun the attempt that is dispatched. One that
// was handed back had not begun: its time goes on.
func (t *turn) startBy(r *runnable, pol policy.Policy) int64 {
	if l := r.limit(); l.Start != 0 {
		return l.Start
	}
	if pol.StartTimeout == 0 {
		return 0
	}
	return t.now + pol.StartTimeout.Milliseconds()
}

// endBy is until when a runnable must have ended that begins now, or begins again; 0: for as long as it takes.
func (t *turn) endBy(pol policy.Policy) int64 {
	if pol.Deadline == 0 {
		return 0
	}
	return t.now + pol.Deadline.Milliseconds()
}

// overdue ends a runnable whose time is over, whatever it waits for.
func (en *ends) overdue(id events.RunnableID, r *runnable) {
	message := fmt.Sprintf("it was not over within %s", r.policy().Deadline)
	if r.Status == runActive {
		message += "; whether the attempt that was open had effects is unknown"
	}
	en.failFor(id, events.TaskError{Type: events.ErrorDeadline, Message: message, NonRetryable: true}, "", timedOutAttempt)
}

// notBegun ends a runnable's attempt, open or handed back, which no worker has begun in time.
// unknown: one has met it that does not know its task, and said why.
func (en *ends) notBegun(id events.RunnableID, r *runnable, unknown bool, said string) {
	pol := r.policy()
	task, queue := r.work(en.component(r.Component))
	err := events.TaskError{Type: events.ErrorStartTimeout}
	if unknown {
		err.Type, err.NonRetryable = events.ErrorUnknownTask, true
		err.Message = fmt.Sprintf("no worker knew %s within %s", task, pol.StartTimeout)
	} else {
		err.Message = fmt.Sprintf("no worker of the queue %q began %s within %s", queue, task, pol.StartTimeout)
	}
	if said != "" {
		err.Message += ": " + said
	}
	en.failFor(id, err, "", timedOutAttempt)
}
