package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// policyFor resolves the policy of an activation. A rule whose
// expression fails does not match.
func (t *turn) policyFor(c *definition.Component, a activation) policy.Policy {
	return t.policyOver(c, a, t.account(), func() json.RawMessage { return t.facts.value(c, a) })
}

// policyUnread resolves the policy of an activation that takes too much: rules that
// have an expression do not match.
func (t *turn) policyUnread(c *definition.Component, a activation) policy.Policy {
	return t.policyOver(c, a, &expr.Account{Left: -1}, func() json.RawMessage { return nil })
}

func (t *turn) policyOver(c *definition.Component, a activation, account *expr.Account, value func() json.RawMessage) policy.Policy {
	sc := t.scopes.given(a.scope)
	given := definition.Given{
		Input:     t.p.parsedRules(sc.Policies),
		Workflow:  t.p.parsedRules(t.setup().Policies),
		Replace:   sc.Replace,
		OnFailure: t.givenOptions().OnFailure,
		Account:   account,
	}
	var input json.RawMessage
	if t.graph().NeedsInput(c, given) {
		input = value()
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
