package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// policyFor resolves the policy of an activation (document 4). A rule whose
// expression fails does not match.
func (t *turn) policyFor(c *definition.Component, a activation) policy.Policy {
	sc := t.scopes.given(a.scope)
	given := definition.Given{
		Input:     t.p.parsedRules(sc.Policies),
		Workflow:  t.p.parsedRules(t.setup().Policies),
		Replace:   sc.Replace,
		OnFailure: t.givenOptions().OnFailure,
		Account:   t.spend.account(),
	}
	var input json.RawMessage
	if t.graph().NeedsInput(c, given) {
		input = t.facts.value(c, a)
	}
	pol, err := t.graph().PolicyFor(c, input, given)
	if err != nil {
		panic("resolving policies that were checked: " + err.Error())
	}
	return pol
}

// policy is the one that was recorded with a runnable.
func (r *runnable) policy() policy.Policy {
	pol, err := policy.Parse(r.Policy)
	if err != nil {
		panic("recorded policy: " + err.Error())
	}
	return pol
}

// queue is where the attempts of a runnable go.
func queueOf(c *definition.Component, pol policy.Policy) string {
	if pol.Queue != "" {
		return pol.Queue
	}
	return c.Queue
}

// of is the JSON object of values that a component sees: its own over the
// input's over the workflow's.
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

// same says whether two texts are one.
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
