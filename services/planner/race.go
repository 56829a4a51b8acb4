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
		at := fl.facts.around(s, fl.graph().Outward(c, fl.component(uint32(f))))
		j := fl.joins.get(at, uint32(f))
		return j != nil && j.Closed
	})
}

// raceSome cancels some of the runnables that a race has made pointless.
func (t *turn) raceSome(w events.Work) {
	for _, c := range t.component(w.Component - 1).Race {
		for _, id := range t.runs.racers(w.Scope, uint32(c)) {
			r := t.runs.get(id)
			element := t.foldedBy(r)
			halted := !r.Status.open() || element != 0 && !t.runs.get(element).Status.open()
			if halted || r.admitted() {
				continue // it has halted the workflow, which is somebody's to look at; or it only waits for elements
			}
			owner := t.foldOwner(id)
			t.abandon(id)
			t.abandon(element)
			t.foldGivenUp(r, owner)
			t.flow.dieFrom(t.component(uint32(c)), r.Scope, notTaken)
			if t.spend.full() {
				return
			}
		}
	}
	t.pieces.pop()
}

// abandon cancels a runnable whose end would come to nothing; 0: there is none. One of a
// reduce that is over would end the reduce again.
func (t *turn) abandon(id events.RunnableID) {
	if id == 0 {
		return
	}
	r := t.runs.get(id)
	t.emit(&events.RunnableCancelled{Runnable: id, Idle: r.Status != runActive || r.External, Work: r.goesOn()})
	t.queue.fresh = slices.DeleteFunc(t.queue.fresh, func(e readyEntry) bool { return e.id == id }) // it may have become ready just now
}

// admitted reports whether a runnable has opened all the scopes that it ever will.
func (r *runnable) admitted() bool { return r.Fanned != nil && r.Fanned.Next == r.Fanned.Count }

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

// enterRace notes a new runnable that races may make pointless; leaveRace forgets it.
func (rs *runnables) enterRace(id events.RunnableID, r *runnable) {
	c := rs.component(r.Component)
	for _, f := range c.Races {
		s := rs.facts.around(r.Scope, rs.graph().Outward(c, rs.component(uint32(f))))
		if !slices.Contains(r.Racing, s) {
			r.Racing = append(r.Racing, s)
			rs.tx.Create(racerKey(rs.id, s, r.Component, id), &present{Since: rs.now})
		}
	}
}

func (rs *runnables) leaveRace(id events.RunnableID, r *runnable) {
	for _, s := range r.Racing {
		rs.tx.Delete(racerKey(rs.id, s, r.Component, id))
	}
}

// around is a scope so many maps further out.
func (fs *facts) around(s events.ScopeID, maps int) events.ScopeID {
	for range maps {
		s = fs.get(s).Opened.Outer
	}
	return s
}
