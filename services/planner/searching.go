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

// attempts are those that workers have or may get, with those that this record cancels.
func (rs *runnables) attempts() []events.OpenAttempt {
	all := slices.Clip(rs.closed)
	for _, id := range rs.active() {
		all = append(all, rs.attempt(id))
	}
	return all
}

func (rs *runnables) attempt(id events.RunnableID) events.OpenAttempt {
	r := rs.get(id)
	return events.OpenAttempt{Runnable: id, Attempt: r.Attempt, Decided: r.Decided, Work: r.Work, Pool: r.Pool}
}

// noteClosed keeps the attempt of a runnable that is cancelled: a record that deletes the run, too, tells its worker.
func (rs *runnables) noteClosed(id events.RunnableID) {
	if rs.get(id).delivered() {
		rs.closed = append(rs.closed, rs.attempt(id))
	}
}

// active are the runnables whose attempts a worker has or may get.
func (rs *runnables) active() []events.RunnableID {
	return rs.those((*runnable).delivered)
}

// atWork are the active ones, and those whose last attempt has left a work that somebody may be at.
func (rs *runnables) atWork() []events.RunnableID {
	return rs.those(func(r *runnable) bool { return r.delivered() || r.left() != nil })
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
