package planner

import (
	"bytes"
	"encoding/json"

	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// formerContext is the workflow's context as it was before a command changed
// it, for the attempts that were open then: their tasks are made again as they
// were (E1). It goes with the last of them.
type formerContext struct {
	Context json.RawMessage
	Open    uint64 // attempts that were dispatched with it
}

// Fields implements wire.Message.
func (f *formerContext) Fields(c *wire.Codec) {
	c.JSON(1, "context", &f.Context)
	wire.Int(c, 2, "open", &f.Open)
}

// formerKey is where the nth of a run's former contexts is, from 1.
func formerKey(wf string, n uint32) rows.Key {
	return rows.Key{Table: rows.Header, Workflow: wf, A: 1 + uint64(n)}
}

// set lays values over the workflow's context, and keeps what it was for
// the attempts that are open.
func (cs *contexts) set(set *setup, over json.RawMessage) {
	old := set.Context
	set.Context = mergeObjects(old, over)
	if bytes.Equal(old, set.Context) {
		return
	}
	n := set.Formers + 1
	open := cs.keep(n)
	if open > 0 {
		set.Formers = n
		cs.tx.Create(formerKey(cs.id, n), &formerContext{Context: old, Open: open})
	}
}

// keep lets the open attempts that have the present context remember it
// as the nth former one. It says how many they are.
func (cs *contexts) keep(n uint32) (open uint64) {
	if cs.head.Slots == 0 {
		return 0
	}
	for _, id := range cs.runs.active() {
		if cs.runs.get(id).Former == 0 {
			cs.runs.change(id).Former = n
			open++
		}
	}
	return open
}

// let ends the need of a closed attempt for a former context.
func (cs *contexts) let(r *runnable) {
	k := formerKey(cs.id, r.Former)
	r.Former = 0
	if f := rows.Change[formerContext](cs.tx, k); f.Open > 1 {
		f.Open--
		return
	}
	cs.tx.Delete(k)
}

// given is the context that was given with the workflow, as of the
// dispatch of a runnable's open attempt.
func (cs *contexts) given(r *runnable) json.RawMessage {
	if r.Former == 0 {
		return cs.setup().Context
	}
	return rows.Get[formerContext](cs.tx, formerKey(cs.id, r.Former)).Context
}
