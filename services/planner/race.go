package planner

import (
	"slices"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// racerKey names the row of an open runnable that a race may make pointless.
func racerKey(wf string, s events.ScopeID, component uint32, id events.RunnableID) rows.Key {
	return rows.Key{Table: rows.Racer, Workflow: wf, A: uint64(s), B: uint64(component), C: uint64(id)}
}

// race cancels what a First that has been decided makes pointless.
func (fl *flow) race(c *definition.Component, s events.ScopeID) {
	if len(c.Race) > 0 {
		fl.pieces.add(events.Work{Kind: events.WorkRace, Component: uint32(c.Index) + 1, Scope: s})
	}
}

// pointless reports whether a race that a component is part of has been decided.
func (fl *flow) pointless(c *definition.Component, s events.ScopeID) bool {
	return slices.ContainsFunc(c.Races, func(f int) bool {
		j := fl.joins.get(s, uint32(f))
		return j != nil && j.Closed
	})
}

// raceSome cancels some of the runnables that a race has made pointless.
func (t *turn) raceSome(w events.Work) {
	for _, c := range t.component(w.Component - 1).Race {
		for _, id := range t.runs.racers(w.Scope, uint32(c)) {
			r := t.runs.get(id)
			if !r.Status.open() { // it has halted the workflow: that is somebody's to look at
				continue
			}
			owner := t.foldOwner(id)
			t.emit(&events.RunnableCancelled{Runnable: id, Idle: r.Status != runActive || r.External})
			t.foldGivenUp(r, owner)
			t.flow.dieFrom(t.component(uint32(c)), w.Scope, notTaken)
			if t.spend.full() {
				return
			}
		}
	}
	t.pieces.pop()
}

// racers are the open runnables of a component in a scope, if it is part of a race.
func (rs *runnables) racers(s events.ScopeID, component uint32) (ids []events.RunnableID) {
	from := racerKey(rs.id, s, component, 0)
	rows.Scan(rs.tx, from, func(k rows.Key, _ *present) bool {
		if k.A != from.A || k.B != from.B {
			return false
		}
		ids = append(ids, events.RunnableID(k.C))
		return true
	})
	return ids
}

// enterRace notes a new runnable that a race may make pointless; leaveRace forgets it.
func (rs *runnables) enterRace(id events.RunnableID, r *runnable) {
	if r.Racing = len(rs.component(r.Component).Races) > 0; r.Racing {
		rs.tx.Create(racerKey(rs.id, r.Scope, r.Component, id), &present{Since: rs.now})
	}
}

func (rs *runnables) leaveRace(id events.RunnableID, r *runnable) {
	if r.Racing {
		rs.tx.Delete(racerKey(rs.id, r.Scope, r.Component, id))
	}
}
