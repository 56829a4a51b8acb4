package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// behind are the runnables behind a place that are picked, as many as there is budget
// for, the last that was looked at, and whether there are more behind it.
func (rs *runnables) behind(after uint64, pick func(events.RunnableID, *runnable) bool, s *spending) (ids []events.RunnableID, last uint64, more bool) {
	last = after
	rows.Scan(rs.tx, rows.Key{Table: rows.Runnable, Workflow: rs.id, A: after + 1}, func(k rows.Key, r *runnable) bool {
		if len(ids) >= s.events || s.steps <= 0 && last > after {
			more = true
			return false
		}
		s.steps -= lookSteps
		last = k.A
		if id := events.RunnableID(k.A); pick(id, r) {
			ids = append(ids, id)
		}
		return true
	})
	return ids, last, more
}

// attempts are those that workers have or may get, or whose work somebody may be at, with those that this record cancels.
func (rs *runnables) attempts() []events.OpenAttempt {
	all := slices.Clip(rs.closed)
	for _, id := range rs.atWork() {
		all = rs.appendAttempts(all, id)
	}
	return all
}

// appendAttempts appends the attempt of a runnable whose worker is to be told that nobody wants it any more, and that of which nobody
// knows what became.
func (rs *runnables) appendAttempts(all []events.OpenAttempt, id events.RunnableID) []events.OpenAttempt {
	r := rs.get(id)
	doubt := r.inDoubt()
	if r.delivered() || r.left() != nil && !doubt {
		all = append(all, events.OpenAttempt{Runnable: id, Attempt: r.Attempt, Decided: r.Decided, Work: r.Work, Pool: r.Pool})
	}
	if doubt {
		all = append(all, events.OpenAttempt{Runnable: id, Attempt: r.Doubt.Attempt, Decided: r.Doubt.Decided, Work: r.Doubt.Work})
	}
	return all
}

// noteClosed keeps the attempts of a runnable that is cancelled: a record that deletes the run, too, tells their workers.
func (rs *runnables) noteClosed(id events.RunnableID) {
	rs.closed = rs.appendAttempts(rs.closed, id)
}

// atWork are the runnables whose attempts a worker has or may get, and those with work that somebody may be at.
func (rs *runnables) atWork() []events.RunnableID {
	return rs.those(func(r *runnable) bool { return r.delivered() || r.goesOn() })
}

func (rs *runnables) those(wanted func(*runnable) bool) []events.RunnableID {
	var ids []events.RunnableID
	rows.Scan(rs.tx, rows.Key{Table: rows.Runnable, Workflow: rs.id}, func(k rows.Key, r *runnable) bool {
		if wanted(r) {
			ids = append(ids, events.RunnableID(k.A))
		}
		return true
	})
	return ids
}
