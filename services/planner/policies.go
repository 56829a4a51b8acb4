package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// policyFor resolves the policy of an activation. A rule whose
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
