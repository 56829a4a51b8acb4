package planner

import (
	"bytes"
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// formerContext is a workflow's context as it was before a command changed it, for the
// attempts that were open then: their tasks are made again as they were. It goes
// with the last of them.
type formerContext struct {
	Context json.RawMessage
	Open    uint64 // attempts that were dispatched with it
}

// Fields implements wire.Message.
func (f *formerContext) Fields(c *wire.Codec) {
	c.JSON(1, "context", &f.Context)
	wire.Int(c, 2, "open", &f.Open)
}

// formerKey is where the nth of a run's contexts is, from 0, once it is a former one.
func formerKey(wf string, n uint32) rows.Key {
	return rows.Key{Table: rows.Header, Workflow: wf, A: 2 + uint64(n)}
}

// set lays values over the workflow's context, and keeps what it was for
// the attempts that are open: each of them knows the number of its own.
func (cs *contexts) set(set *setup, over json.RawMessage) {
	old := set.Context
	set.Context = mergeObjects(old, over)
	open := cs.head.Slots - cs.head.Former
	if bytes.Equal(old, set.Context) || open == 0 {
		return
	}
	cs.tx.Create(formerKey(cs.id, set.Contexts), &formerContext{Context: old, Open: open})
	set.Contexts++
	cs.h().Former += open
}

// let ends the need of an attempt that closes for its context, if that is a former one.
func (cs *contexts) let(r *runnable) {
	if r.Context == cs.setup().Contexts {
		return
	}
	k := formerKey(cs.id, r.Context)
	cs.h().Former--
	if f := rows.Change[formerContext](cs.tx, k); f.Open > 1 {
		f.Open--
		return
	}
	cs.tx.Delete(k)
}

// given is the context that was given with the workflow, as of the
// dispatch of a runnable's open attempt.
func (cs *contexts) given(r *runnable) json.RawMessage {
	if r.Status != runActive || r.Context == cs.setup().Contexts {
		return cs.setup().Context
	}
	return rows.Get[formerContext](cs.tx, formerKey(cs.id, r.Context)).Context
}

func (cs *contexts) env(c *definition.Component, a activation) expr.Env {
	return cs.envOver(c, a, cs.setup().Context)
}

// envOver is the same with another context of the workflow.
func (cs *contexts) envOver(c *definition.Component, a activation, run json.RawMessage) expr.Env {
	env := expr.Env{
		Input:      cs.facts.value(c, a),
		Context:    cs.of(c, a.scope, run),
		WorkflowID: cs.id,
		Now:        cs.time(),
		Account:    cs.account(),
	}
	cs.states.lookAt(&env, c, a.scope)
	return env
}

// foldEnv is what a reducer sees.
func (cs *contexts) foldEnv(c *definition.Component, a activation, f expr.Fold) expr.Env {
	env := expr.Env{
		Fold: &f, Context: cs.of(c, a.scope, cs.setup().Context), WorkflowID: cs.id, Now: cs.time(), Account: cs.account(),
	}
	cs.states.lookAt(&env, c, a.scope)
	return env
}

// shape is the input that the task of an attempt gets, as of the record that dispatched it.
func (cs *contexts) shape(c *definition.Component, id events.RunnableID, r *runnable, dispatched int64) ([]byte, error) {
	input, err := cs.shapeOwn(c, r, dispatched)
	if err == nil && r.For == events.ForProbe {
		return cs.question(c, id, r, input), nil
	}
	return input, err
}

// shapeOwn is the input that the component's own task gets.
func (cs *contexts) shapeOwn(c *definition.Component, r *runnable, dispatched int64) ([]byte, error) {
	a := activation{scope: r.Scope, parents: r.Parents, depth: r.Depth, input: r.Input}
	if c.Accumulate == nil && (c.Input == nil && c.Params == nil || len(r.Input) > 0) {
		return cs.facts.value(c, a), nil // an edited input is what the task gets
	}
	env := cs.envOver(c, a, cs.given(r))
	env.Now = unixMilli(dispatched)
	env.Context = cs.fallen(r, env.Context)
	if c.Accumulate != nil {
		return c.ShapeFold(env)
	}
	return c.Shape(env)
}

// of is the JSON object of values that a component sees: what the start gave it alone, over
// its own, over the input's, over the workflow's.
func (cs *contexts) of(c *definition.Component, s events.ScopeID, run json.RawMessage) json.RawMessage {
	if over := cs.scopes.given(s).Context; len(over) > 0 {
		run = cs.merged(run, over)
	}
	if c.Context != nil {
		cs.spend.reads(len(run))
	}
	over, err := c.ContextOver(run)
	if err != nil {
		panic("context that was checked: " + err.Error())
	}
	if own := cs.setup().own(c); own != nil {
		cs.spend.reads(len(over) + len(own))
		over = mergeObjects(over, own)
	}
	return over
}

// merged is mergeObjects, or what it gave the last time that it was asked in
// this decision: all that runs in a scope has the same context.
func (cs *contexts) merged(run, over json.RawMessage) json.RawMessage {
	m := &cs.lastMerge
	if m.over == nil || !same(m.run, run) || !same(m.over, over) {
		cs.spend.reads(len(run) + len(over))
		*m = merge{run, over, mergeObjects(run, over)}
	}
	return m.both
}

// merge are the fields of an input's context over those of the workflow's.
type merge struct{ run, over, both json.RawMessage }

// same reports whether two texts are one.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// mergeObjects lays the fields of b over those of a; both are JSON objects or empty.
func mergeObjects(a, b json.RawMessage) json.RawMessage {
	if len(a) == 0 {
		return b
	}
	var all, over map[string]json.RawMessage
	if json.Unmarshal(a, &all) != nil || json.Unmarshal(b, &over) != nil {
		panic("context that was checked is no object")
	}
	for k, v := range over { // order: json.Marshal sorts keys
		all[k] = v
	}
	merged, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return merged
}
